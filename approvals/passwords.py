"""Every password of a person is checked here, behind one count of wrong ones: log-in, critical decision, terminal."""

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest

from approvals.services import guesses
from forge_project.kernel import actors
from forge_project.kernel.errors import Denied


class Backend(ModelBackend):
    """Django's own; `authenticate` may raise TooMany, for names that are no account too."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **named: Any
    ) -> User | None:
        """The account whose password this is; what is empty is no guess."""
        name = named.get(User.USERNAME_FIELD) if username is None else username
        if not name or not password or "\0" in name:
            return None
        place = guesses.take(name)
        try:
            found = super().authenticate(request, username=name, password=password)
        except Exception:
            guesses.give_back(place)
            raise
        guesses.settle(place, right=found is not None, actor=_who(request))
        return found if isinstance(found, User) else None


def check(user: User, password: str, request: HttpRequest | None = None) -> None:
    """Raises Denied unless this is that person's own password, and TooMany where none is looked at any more."""
    found = authenticate(request, username=user.get_username(), password=password)
    if found is None or found.pk != user.pk:
        raise Denied("this is not your password", rule="approval.password")


def _who(request: HttpRequest | None) -> str:
    """Where the guess came from: nobody has proved who they are."""
    return actors.shell() if request is None else f"address:{str(request.META.get('REMOTE_ADDR', ''))[:60]}"
