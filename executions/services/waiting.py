"""Parking: an execution that waits for a person holds no lease and no process; its decision queues it again."""

from datetime import datetime
from typing import Any

from approvals.models import Approval
from approvals.states import State
from executions.models import Call, Execution
from executions.outbox.models import SignalKind
from executions.outbox.tell import tell
from executions.services import hints, sleeping
from executions.services.finish import end_attempt
from executions.states import CallStatus, Status, worst
from executions.transitions import Lease, held, move
from forge_project.kernel import clock, hot
from forge_project.ledger.events import fact
from forge_project.ledger.writing import Page, writing


def park(lease: Lease, columns: dict[str, Any]) -> bool:
    """Moves to waiting_approval, or, while something of it sleeps, to the queue until then.

    False (and the attempt goes on) if something was decided or cancelled meanwhile, or a sleep has ended.
    """
    with writing(lease.ref) as page:
        execution = held(page, lease)
        open_calls = Call.objects.filter(execution=execution, status=CallStatus.AWAITING_APPROVAL)
        refs = list(open_calls.order_by("n").values_list("approval_ref", flat=True))
        pending = Approval.objects.filter(pk__in=refs, state=State.PENDING).count()
        due = sleeping.next_due(execution)
        if pending != len(refs) or execution.cancel_requested_at is not None or not (refs or due):
            return False
        if due is not None:
            return _sleep(page, execution, due, columns)
        effect = worst(list(Call.objects.filter(execution=execution).values_list("side_effect", flat=True)))
        event = fact("execution.parked", attempt=lease.attempt, approvals=refs)
        move(page, execution, Status.WAITING_APPROVAL, event, lease=lease, side_effect=effect, **columns)
        end_attempt(execution, "parked", columns.get("metrics", {}))
    return True


def _sleep(page: Page, execution: Execution, due: datetime, columns: dict[str, Any]) -> bool:
    if due <= clock.now():
        return False
    to_queue(page, execution, "sleeping", columns, due=due)
    end_attempt(execution, "sleeping", columns.get("metrics", {}))
    return True


def on_decided(page: Page, approval: Approval) -> None:
    """The port approvals calls in its deciding transaction: a parked execution is queued again, a live one looks."""
    execution = hot.one(Execution, {"ref": approval.execution_ref})
    if execution is None:
        return
    tell(execution, SignalKind.APPROVAL_DECIDED, approval_ref=approval.pk, approval_state=approval.state)
    if execution.status == Status.WAITING_APPROVAL:
        event = fact("execution.queued", reason="decided", approval=approval.pk)
        move(page, execution, Status.QUEUED, event, lease=None)
        hints.send_on_commit()
    elif execution is not None and execution.status == Status.QUEUED and execution.due_at is not None:
        Execution.objects.filter(pk=execution.pk).update(due_at=None)  # it sleeps; the decision wakes it up
        hints.send_on_commit()


def on_questioned(page: Page, approval: Approval, n: int) -> None:
    """The port approvals calls in the transaction in which a person asks the agent something: a signal tells it."""
    execution = hot.one(Execution, {"ref": approval.execution_ref})
    if execution is not None:
        kind = SignalKind.APPROVAL_QUESTION
        tell(execution, kind, approval_ref=approval.pk, approval_state=approval.state, question=n)


def requeue(lease: Lease, columns: dict[str, Any], reason: str, *, hold: int | None = None) -> None:
    """Gives a running execution back to the queue (drained, held): a later attempt goes on from its history."""
    with writing(lease.ref) as page:
        execution = held(page, lease)
        to_queue(page, execution, reason, columns | ({"hold_id": hold} if hold is not None else {}))
        end_attempt(execution, reason, columns.get("metrics", {}))


def to_queue(
    page: Page, execution: Execution, reason: str, columns: dict[str, Any], *, due: datetime | None = None
) -> None:
    """Moves an execution to the queue; not claimed before `due`."""
    effect = worst(list(Call.objects.filter(execution=execution).values_list("side_effect", flat=True)))
    event = fact("execution.queued", attempt=execution.attempt, reason=reason)
    move(page, execution, Status.QUEUED, event, lease=None, side_effect=effect, due_at=due, **columns)
    if due is None:
        hints.send_on_commit()
