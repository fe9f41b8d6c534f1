"""Executions put aside because no key here opens what is sealed of them: nothing is lost, nothing counts as a crash.

A key that is missing after a rotation comes back, and then they go on. A token that was altered looks the same: such a
one stays put aside until an operator cancels it.
"""

import logging
from collections.abc import Iterator

from django.db.models import F

from executions.errors import LeaseLost
from executions.models import Call, Execution, SessionValue
from executions.outbox import logged
from executions.services import hints, journal, sealed, session_state, waiting
from executions.services.finish import end_attempt
from executions.states import TERMINAL, CallStatus, Status
from executions.transitions import Lease, held
from forge_project.kernel import clock
from forge_project.kernel.log.event import event
from forge_project.kernel.plain import OUTAGE
from forge_project.kernel.sealing import SealBroken
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing

log = logging.getLogger("forge.executions")
SEALED = "SEAL_BROKEN"  # how the reason on the row begins


def reason(broken: SealBroken) -> str:
    """What stands on the row."""
    return f"{SEALED}: {broken.message}"


def put_aside(lease: Lease, broken: SealBroken) -> bool:
    """Gives a running attempt's execution back to the queue, where nobody takes it, unless another holds it by now.

    False where it has to be looked at instead: an effect of it has begun, or it is to end.
    """
    try:
        return _put_aside(lease, broken)
    except LeaseLost:
        return True


def _put_aside(lease: Lease, broken: SealBroken) -> bool:
    with writing(lease.ref) as page:
        execution = held(page, lease)
        begun = Call.objects.filter(execution=execution, status=CallStatus.PREPARED).exclude(effect__in=journal.QUIET)
        if execution.status != Status.RUNNING or execution.cancel_requested_at is not None or begun.exists():
            return False
        waiting.to_queue(page, execution, "unreadable", {"quarantined": reason(broken)})
        end_attempt(execution, "unreadable", {})
    told = logged.of(execution) | {"error_code": SEALED, "status": Status.QUEUED.value}
    event("executions", "quarantined", **told)
    return True


def release_readable() -> list[str]:
    """Lets those go on that a key opens again; their refs. What they waited put aside does not count as time."""
    rows = Execution.objects.filter(quarantined__startswith=SEALED).exclude(status__in=TERMINAL)
    return [row.ref for row in rows.order_by("created_at") if _released(row)]


def _opens(execution: Execution) -> bool:
    try:
        for token in _tokens(execution):
            if token is not None:
                sealed.unseal(token)
    except SealBroken:
        return False
    return True


def _tokens(execution: Execution) -> Iterator[bytes | memoryview | None]:
    """Everything that a next attempt, or a look at the world, may have to open."""
    yield from (execution.sealed_request, execution.sealed_start)
    calls = Call.objects.filter(execution=execution)
    for call in calls.values_list("sealed_input", "sealed_precondition", "sealed_result"):
        yield from call
    if execution.sealed_start is None:  # its state is still to be taken
        session = SessionValue.objects.filter(**session_state.of(execution))
        yield from session.values_list("sealed_value", flat=True)


def _released(row: Execution) -> bool:
    """One bad row stops no other."""
    try:
        return _opens(row) and _release(row.ref)
    except OUTAGE:
        raise
    except Exception as error:
        log.error("not released: %s", row.ref, exc_info=error)
        return False


def _release(ref: str) -> bool:
    with writing(ref) as page:
        row = Execution.objects.get(pk=ref)
        if row.status in TERMINAL or not row.quarantined.startswith(SEALED):
            return False  # another was first
        now = clock.now()
        same = Execution.objects.filter(pk=ref, status=row.status, quarantined=row.quarantined)
        aside = now - row.updated_at
        if same.update(quarantined="", updated_at=now, expires_at=F("expires_at") + aside) != 1:
            return False
        page.add(fact("execution.released", reason="readable"))
        hints.send_on_commit()
    event("executions", "released", **logged.of(row))
    return True
