"""Asks for an execution's end: persisted at once, final."""

from dataclasses import dataclass

from executions.models import Execution
from executions.services.finish import End, finish, refuse_open_calls
from executions.services.shapes import Fault
from executions.states import TERMINAL, Status
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Invalid
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing

MAX_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Who wants `execution_ref` to end, and why."""

    execution_ref: str
    actor: str  # user:<username>
    reason: str


def cancel(asked: Cancel) -> Execution:
    """Queued and waiting end in this transaction; a running one ends when its worker sees the request (within 1 s).

    Raises Missing; Invalid without a reason; Conflict once it has finished. Asked again, it changes nothing.
    """
    reason = asked.reason.strip()
    if not reason or len(reason) > MAX_REASON or "\0" in reason:
        raise Invalid(f"say why, in 1-{MAX_REASON} characters", path="/reason")
    with writing(asked.execution_ref) as page:
        execution = Execution.objects.get(pk=asked.execution_ref)
        if execution.status in TERMINAL:
            raise Conflict("this execution has finished", status=execution.status, execution=execution.ref)
        if execution.cancel_requested_at is None:
            now = clock.now()
            asked_now = {"cancel_requested_at": now, "cancel_requested_by": asked.actor, "cancel_reason": reason}
            Execution.objects.filter(pk=execution.pk).update(updated_at=now, **asked_now)
            page.add(fact("execution.cancel_requested", actor=asked.actor, reason=reason, was=execution.status))
            execution.refresh_from_db()
            if execution.status == Status.UNKNOWN:  # what it had asked for waited for its going on
                refuse_open_calls(page, execution, f"cancelled: {reason}")
        if execution.status in (Status.QUEUED, Status.WAITING_APPROVAL):
            fault = Fault(code="CANCELLED", message=f"cancelled: {reason}")
            finish(page, execution, End(status=Status.CANCELLED, fault=fault), lease=None)
    return execution
