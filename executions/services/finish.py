"""The end of an execution, for whoever brings it about: open calls refused, approvals revoked, one terminal event."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from approvals.models import Approval
from approvals.services.revoke import revoke_in
from approvals.states import LIVE
from executions.models import Attempt as AttemptRow
from executions.models import Call, Execution
from executions.sandbox.shapes import NO_VALUE, NoValue
from executions.services import journal, sealed, settle, volume
from executions.services.shapes import Fault
from executions.states import CallStatus, Interruption, Kind, SideEffect, Status, worst
from executions.transitions import Lease, move
from forge_project.kernel import clock, hot
from forge_project.ledger import events
from forge_project.ledger.events import fact
from forge_project.ledger.writing import Page

_EVENT_STATUS: dict[Status, events.Status] = {
    Status.SUCCEEDED: "completed",
    Status.FAILED: "failed",
    Status.TIMED_OUT: "aborted",
    Status.CANCELLED: "cancelled",
}
UNKNOWN_EFFECT = Fault(
    code="UNKNOWN_SIDE_EFFECT", message="whether an effect happened can't be known; an operator has to look"
)
LOOK_AGAIN_SECONDS = 30  # after which an unknown effect is looked at once more
_UNDISPATCHED = (CallStatus.REQUESTED, CallStatus.AWAITING_APPROVAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How an execution ends: a value (or none) for succeeded, a fault for everything else."""

    status: Status
    value: Any | NoValue = NO_VALUE
    fault: Fault | None = None
    unawaited: tuple[int, ...] = ()
    ending: str = ""  # the attempt's
    columns: dict[str, Any] | None = None  # active_ms, metrics, termination_unconfirmed …


class Standing(NamedTuple):
    """Where one call of an execution stands."""

    status: str
    effect: str
    side_effect: str
    approval_ref: str
    call_id: str


def standing(execution: Execution) -> list[Standing]:
    """Every call's, of all rounds, in their order."""
    return [Standing(*row) for row in hot.values(Call, Standing._fields, {"execution_id": execution.pk}, order="n")]


def finish(
    page: Page, execution: Execution, end: End, *, lease: Lease | None, calls: Sequence[Standing] | None = None
) -> None:
    """Moves to `end.status` (UNKNOWN included) with everything that belongs to it, in the caller's transaction.

    `calls`: as `standing` read them in this transaction, if it has.
    """
    calls = standing(execution) if calls is None else calls
    reason = end.fault.code if end.fault else "the script returned without waiting for it"
    if end.status != Status.UNKNOWN or not may_resume(execution):
        if any(call.status == CallStatus.PREPARED and call.effect in journal.QUIET for call in calls):
            _give_up_reads(page, execution)
        if any(call.status in _UNDISPATCHED or call.approval_ref for call in calls):
            refuse_open_calls(page, execution, reason)
    effect = worst([call.side_effect for call in calls])  # what was refused just now has had none
    facts = _result(execution, end) if end.fault is None else _error(execution, end.fault)
    facts |= {"unawaited": list(end.unawaited), "due_at": None} | (end.columns or {})
    if end.status == Status.UNKNOWN:
        facts["due_at"] = clock.now() + timedelta(seconds=LOOK_AGAIN_SECONDS)
        event = _unknown_event(execution, calls)
        move(page, execution, end.status, event, lease=lease, side_effect=effect, **facts)
    else:
        closed = SideEffect.NOT_APPLIED if effect == SideEffect.NOT_STARTED else effect
        facts |= {"side_effect": closed, "finished_at": clock.now()}
        move(page, execution, end.status, _event(page, execution, end, closed), lease=lease, **facts)
    end_attempt(execution, end.ending or end.status.value, (end.columns or {}).get("metrics", {}))
    volume.account(execution)


def may_resume(execution: Execution) -> bool:
    """Whether, once its unknown call is resolved, the script goes on: what it had asked for waits till then."""
    resumes = execution.kind == Kind.SCRIPT and execution.interruption == Interruption.RESUME
    return resumes and execution.cancel_requested_at is None


def end_attempt(execution: Execution, ending: str, metrics: dict[str, Any]) -> None:
    """Writes how the current attempt ended, once."""
    current = {"execution_id": execution.pk, "number": execution.attempt, "ended_at": None}
    hot.update(AttemptRow, current, {"ended_at": clock.now(), "ending": ending, "metrics": metrics})


def refuse_open_calls(page: Page, execution: Execution, reason: str) -> None:
    """Calls never dispatched are cancelled and their approvals revoked."""
    for call in Call.objects.filter(execution=execution, status__in=_UNDISPATCHED).order_by("n"):
        fault = Fault(code="CANCELLED", message=f"the execution ended before this call: {reason}")
        journal.refuse(page, call, fault)
    for ref in Approval.objects.filter(execution_ref=execution.ref, state__in=LIVE).values_list("pk", flat=True):
        revoke_in(page, ref, "the execution ended")


def _give_up_reads(page: Page, execution: Execution) -> None:
    """Reads that were to be asked again and will not be."""
    reads = Call.objects.filter(execution=execution, status=CallStatus.PREPARED, effect__in=journal.QUIET)
    for call in reads.order_by("n"):
        settle.write(page, call, execution.attempt, settle.UNREAD, retry=False)


def _result(execution: Execution, end: End) -> dict[str, Any]:
    told: dict[str, Any] = {"error_code": "", "error_message": "", "error_details": {}} if execution.error_code else {}
    if end.value is NO_VALUE:
        return told | {"no_value": True}
    shown = sealed.shown_text(execution.ref, end.value)
    return told | {"sealed_result": sealed.seal(end.value), "shown_result": shown}


def _error(execution: Execution, fault: Fault) -> dict[str, Any]:
    return {
        "error_code": fault.code,
        "error_message": sealed.said(execution.ref, fault.message),
        "error_details": sealed.column(sealed.shown(execution.ref, fault.details)),
        "retryable": fault.retryable,
    }


def _event(page: Page, execution: Execution, end: End, effect: SideEffect) -> events.Event:
    told: dict[str, Any] = {"attempt": execution.attempt, "outcome": end.status.value, "side_effect": effect.value}
    if end.fault is not None:
        told["error"] = sealed.shown(execution.ref, end.fault.json())
    elif end.value is not NO_VALUE:
        told["result_digest"] = sealed.digest(end.value)
    if end.unawaited:
        told["unawaited"] = list(end.unawaited)
    return fact(
        "execution.finished", status=_EVENT_STATUS[end.status], event_id=f"{page.invocation_id}_finished", **told
    )


def _unknown_event(execution: Execution, calls: Sequence[Standing]) -> events.Event:
    unknown = [call.call_id for call in calls if call.status == CallStatus.UNKNOWN]
    return fact("execution.unknown", attempt=execution.attempt, calls=unknown)
