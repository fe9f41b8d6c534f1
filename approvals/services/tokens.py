"""API tokens: shown once when made, ended at once when revoked. The ledger knows of both, but nothing of a token."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import QuerySet
from knox.models import AuthToken

from forge_project.kernel import clock
from forge_project.kernel.errors import Denied, Invalid
from forge_project.ledger.governance import governing, record

MAX_DAYS = 365


def issue_token(user: User, days: int, *, actor: str) -> str:
    """A new API token of an active account, in the clear for the only time. Raises Invalid, Denied."""
    if not 1 <= days <= MAX_DAYS:
        raise Invalid(f"a token lives 1 to {MAX_DAYS} days", path="/days")
    if not user.is_active:
        raise Denied(f"{user.username} is not active", rule="token.inactive")
    with governing():
        row, token = AuthToken.objects.create(user=user, expiry=timedelta(days=days))
        record("token.made", actor=actor, **_named(row))
    return str(token)


def revoke_tokens(tokens: QuerySet[AuthToken], *, actor: str) -> list[AuthToken]:
    """Ends them: the next request with one is refused. Those that this ended."""
    ended = []
    with governing():
        for row in tokens.select_related("user").order_by("created"):
            if AuthToken.objects.filter(pk=row.pk).delete()[0]:
                record("token.revoked", actor=actor, **_named(row))
                ended.append(row)
    return ended


def _named(row: AuthToken) -> dict[str, str | None]:
    """Whose it is, and from when until when: nothing of the token itself, nor of its digest."""
    ends = clock.text(row.expiry) if row.expiry else None
    return {"user": row.user.get_username(), "created": clock.text(row.created), "ends": ends}
