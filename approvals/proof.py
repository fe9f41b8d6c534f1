"""How and from where a person proved who they are, as a vote keeps it."""

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from knox.models import AuthToken

from approvals.sessions import digest
from forge_project.kernel import clock
from forge_project.kernel.errors import Denied

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
MAX_ADDRESS = 60


def of(request: HttpRequest, user: User, *, auth: object = None, password: str | None = None) -> dict[str, Any]:
    """`method`, `authenticated_at`, `session` (a digest) and `address`. Raises Denied for a wrong password.

    A token stays a token, whatever else is sent with it.
    """
    told = {"address": str(request.META.get("REMOTE_ADDR", ""))[:MAX_ADDRESS]}
    if isinstance(auth, AuthToken):
        return told | {"method": "token", "authenticated_at": auth.created, "session": digest(auth.digest)}
    told["session"] = digest(request.session.session_key or "")
    if password is None:
        return told | {"method": "session", "authenticated_at": user.last_login or NEVER}
    if not user.check_password(password):
        raise Denied("this is not your password", rule="approval.password")
    return told | {"method": "password", "authenticated_at": clock.now()}
