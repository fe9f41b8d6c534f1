"""Stops dispatch for a caller, a workspace, a capability or everything, and lets it go on: facts of governance."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from executions.bounds import HeldKind, Hold
from executions.models import Workspace
from executions.services import catalog, gate, hints
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger.events import Event, fact
from forge_project.ledger.governance import governing

MAX_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceHold:
    """What `actor` wants held, and why; `target` is a user name, a workspace or a capability."""

    kind: HeldKind
    actor: str  # user:<username> or os:<account>
    reason: str
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHold:
    """Which hold `actor` ends, and why."""

    kind: HeldKind
    actor: str
    reason: str
    target: str = ""


def hold(asked: PlaceHold) -> Hold:
    """From its return on nothing it covers is dispatched; what began finishes. Raises Invalid, Missing, Conflict."""
    reason = _said(asked.reason)
    _there(asked)
    try:
        with transaction.atomic():
            gate.shut()
            row = Hold.objects.create(
                kind=asked.kind, target=asked.target, reason=reason, placed_by=asked.actor, placed_at=clock.now()
            )
            with governing() as page:
                page.add(_fact("hold.placed", row, asked.actor, reason))
    except IntegrityError:
        raise Conflict(f"{asked.kind.value} {asked.target}".strip() + " is held already") from None
    return row


def release(asked: ReleaseHold) -> Hold:
    """Undoes a hold: what it kept is looked at again at once. Raises Invalid; Missing where there is none."""
    reason = _said(asked.reason)
    with transaction.atomic():
        row = Hold.objects.filter(kind=asked.kind, target=asked.target, released_at=None).first()
        now = clock.now()
        ended = {"released_at": now, "released_by": asked.actor, "release_reason": reason}
        if row is None or Hold.objects.filter(pk=row.pk, released_at=None).update(**ended) != 1:
            raise Missing(f"{asked.kind.value} {asked.target}".strip() + " is not held", path="/target")
        with governing() as page:
            page.add(_fact("hold.released", row, asked.actor, reason))
        hints.send_on_commit()
    row.refresh_from_db()
    return row


def _fact(name: str, row: Hold, actor: str, reason: str) -> Event:
    return fact(name, hold=row.pk, kind=row.kind, target=row.target, actor=actor, reason=reason)


def _said(reason: str) -> str:
    told = reason.strip()
    if not told or len(told) > MAX_REASON or "\0" in told:
        raise Invalid(f"say why, in 1-{MAX_REASON} characters", path="/reason")
    return told


def _there(asked: PlaceHold) -> None:
    """A hold of a misspelt name would hold nothing and look as if it did."""
    match asked.kind:
        case HeldKind.EVERYTHING:
            if asked.target:
                raise Invalid("everything has no name", path="/target")
        case HeldKind.CALLER:
            found = User.objects.filter(username=asked.target).exists()
        case HeldKind.WORKSPACE:
            found = Workspace.objects.filter(name=asked.target).exists()
        case HeldKind.CAPABILITY:
            found = catalog.find(asked.target) is not None
    if asked.kind != HeldKind.EVERYTHING and not found:
        raise Missing(f"no such {asked.kind.value}: {asked.target}", path="/target")
