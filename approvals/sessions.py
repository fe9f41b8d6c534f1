"""People's log-ins to the admin and the browsable API, as the ledger may know them."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from forge_project.kernel import actors
from forge_project.ledger.governance import governing, record


def digest(session_key: str) -> str:
    """A keyed digest by which facts of one session are told to belong together; the key itself opens the session."""
    return settings.FORGE_FINGERPRINTS.of(["session", session_key])


@receiver(user_logged_in, dispatch_uid="approvals.sessions")
def note(request: HttpRequest, user: User, **_: Any) -> None:
    """A log-in of staff is a governance fact; where it can't be written, nobody is logged in."""
    if not user.is_staff:
        return
    with governing():
        record(
            "session.opened",
            actor=actors.of(user),
            session=digest(request.session.session_key or ""),
            address=str(request.META.get("REMOTE_ADDR", "")),
        )
