"""How and from where a person proved who they are, as a vote keeps it."""

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from knox.models import AuthToken

from approvals import passwords
from approvals.sessions import digest
from forge_project.kernel import clock

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
MAX_ADDRESS = 60


def of(request: HttpRequest, user: User, *, auth: object = None, password: str | None = None) -> dict[str, Any]:
    """`method`, `authenticated_at`, `session` (a digest) and `address`. Raises Denied for a wrong password, TooMany.

    A token stays a token, whatever else is sent with it.
    """
    told = {"address": str(request.META.get("REMOTE_ADDR", ""))[:MAX_ADDRESS]}
    if isinstance(auth, AuthToken):
        return told | {"method": "token", "authenticated_at": auth.created, "session": digest(auth.digest)}
    told["session"] = digest(request.session.session_key or "")
    if password is None:
        return told | {"method": "session", "authenticated_at": user.last_login or NEVER}
    passwords.check(user, password, request)
    return told | {"method": "password", "authenticated_at": clock.now()}
