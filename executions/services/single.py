"""The road of a single capability request: the same boundary, one call, no guest."""

from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import Any

from django.conf import settings

from approvals.models import Approval
from approvals.states import State
from executions.errors import CancelRequested, DeadlinePassed, Held, LeaseLost
from executions.models import Call, Execution
from executions.sandbox.shapes import Asked
from executions.services import asking, calls, catalog, sleeping, turns, waiting
from executions.services.attempt import Attempt
from executions.services.calls import Job, Report
from executions.services.close import Leftovers, close
from executions.services.finish import End
from executions.services.journal import Ended
from executions.services.rejections import reject_decided, unavailable
from executions.services.sealed import unseal
from executions.services.shapes import Fault
from executions.services.stop import GRACE_SECONDS, stop
from executions.states import CALL_ENDS, CallStatus, Status
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import Denied, Unidentified
from forge_project.ledger.writing import writing

LINGER_POLL_SECONDS = 0.05
POLL_SECONDS = 0.25
CANCELLED = Fault(code="CANCELLED", message="cancelled")
TIMED_OUT = Fault(code="TIMEOUT", message="the execution's time is used up", retryable=True)


def drive(attempt: Attempt) -> None:
    """One attempt at a capability request, to its end or until it waits for a person."""
    try:
        call, report = _open(attempt)
    except CancelRequested:
        stop(attempt, "cancelled")
        return close(attempt, End(status=Status.CANCELLED, fault=CANCELLED, columns=_columns(attempt)), Leftovers())
    except DeadlinePassed:
        return close(attempt, End(status=Status.TIMED_OUT, fault=TIMED_OUT, columns=_columns(attempt)), Leftovers())
    except Held as held:
        return waiting.requeue(attempt.lease, _columns(attempt), "held", hold=held.facts["hold"])
    except (Denied, Unidentified) as refused:
        fault = Fault(code=refused.code, message=refused.message, details=refused.facts)
        return close(attempt, End(status=Status.FAILED, fault=fault, columns=_columns(attempt)), Leftovers())
    while report is None or report.state == "waiting":
        if attempt.cancelled():
            report = Report(n=1, state="stopped")
        elif report is not None and not _linger(attempt, call) and waiting.park(attempt.lease, _columns(attempt)):
            return None
        else:
            report = _step(attempt, call)
    return _close(attempt, call, report)


def _open(attempt: Attempt) -> tuple[Call, Report | None]:
    """Call 1: made by the first attempt, found by a later one."""
    call = Call.objects.filter(execution=attempt.execution, round=attempt.execution.round, n=1).first()
    if call is not None:
        if call.status in CALL_ENDS:
            return call, Report(n=1, state="ended", told=unseal(call.sealed_result or b""))
        if call.status == CallStatus.PREPARED:  # a read whose worker died
            turns.prepare_again(attempt.guard, attempt.execution, call)
        return call, None
    request = unseal(attempt.execution.sealed_request)
    asked = Asked(1, attempt.execution.capability, request["input"], attempt.execution.purpose or None)
    failpoints.reach("t1.before")
    questions = turns.pose(attempt.execution, [asked])

    def write() -> turns.Opened:
        with writing(attempt.lease.ref) as page:
            execution = attempt.guard.pass_dispatch(page, writes=False, tools=[asked.tool])
            verdict = turns.judge_all({n: asking.today(one, execution) for n, one in questions.items()}).get(asked.n)
            opened = turns.open_one(page, attempt.guard, execution, asked, verdict)
            Execution.objects.filter(pk=execution.pk).update(crashes=0)
        return opened

    opened = asking.settled(write, questions.values())
    if opened.call.status == CallStatus.PREPARED:
        failpoints.reach("t1.after")
    ended = None if opened.told is None else Report(n=1, state="ended", told=opened.told)
    return opened.call, ended


def _step(attempt: Attempt, call: Call) -> Report:
    call.refresh_from_db()
    if sleeping.sleeps(call) and sleeping.due_at(call) > clock.now():
        return Report(n=1, state="waiting")
    if call.status == CallStatus.AWAITING_APPROVAL:
        approval = Approval.objects.get(pk=call.approval_ref)
        if approval.state == State.PENDING:
            return Report(n=1, state="waiting")
        if approval.state != State.APPROVED:
            try:
                return Report(n=1, state="ended", told=reject_decided(attempt.lease, call, approval))
            except CancelRequested:
                attempt.note_cancelled()
                return Report(n=1, state="stopped")
    capability = catalog.find(call.tool)
    if capability is None:  # it was there when the call was asked for
        return Report(n=1, state="ended", told=unavailable(attempt.lease, call))
    job = Job(
        call=call,
        execution=attempt.execution,
        capability=capability,
        guard=attempt.guard,
        limits=attempt.limits,
    )
    return _watched(attempt, job)


def _watched(attempt: Attempt, job: Job) -> Report:
    """Runs the call in the pool. Cancelled or out of time, only an effect that has begun is waited for."""
    future: Future[Report] = attempt.runtime.call(attempt.lease.ref, copy_context().run, calls.run, job)
    begun, until = False, None
    while True:
        wait([future], timeout=POLL_SECONDS)
        if future.done():
            return future.result()
        now, cancelled = clock.monotonic(), attempt.cancelled()
        if (cancelled and not attempt.stopping) or (until is None and now >= attempt.deadline):
            begun, until = 1 in stop(attempt, "cancelled" if cancelled else None), until or now + GRACE_SECONDS
        if until is not None and not begun and now >= until:
            return Report(n=1, state="stopped")


def _linger(attempt: Attempt, call: Call) -> bool:
    """Waits a moment for the decision, or the end of a sleep; True if it came."""
    until = clock.monotonic() + settings.FORGE_LINGER_MS / 1000
    while clock.monotonic() < until:
        if sleeping.sleeps(call):
            if attempt.cancelled() or sleeping.due_at(call) <= clock.now():
                return True
        elif attempt.cancelled() or not Approval.objects.filter(pk=call.approval_ref, state=State.PENDING).exists():
            return True
        if attempt.runtime.draining.wait(LINGER_POLL_SECONDS):
            return False  # this worker goes: parked, it waits without one
    return False


def _close(attempt: Attempt, call: Call, report: Report) -> None:
    unwritten: list[tuple[Call, Ended]] = [] if report.unwritten is None else [(call, report.unwritten)]
    left = Leftovers(unwritten=unwritten)
    columns = _columns(attempt)
    if report.state == "unknown":
        return close(attempt, End(status=Status.UNKNOWN, columns=columns), left)
    if report.state == "ended" and not attempt.stopping:
        told = report.told or {}
        if told["ok"]:
            return close(attempt, End(status=Status.SUCCEEDED, value=told["value"], columns=columns), left)
        end = End(status=Status.FAILED, fault=Fault(**told["error"]), columns=columns)
        return close(attempt, end, left)
    if attempt.cancelled(look=True):  # it may be what just stopped the call
        stop(attempt, "cancelled")
        return close(attempt, End(status=Status.CANCELLED, fault=CANCELLED, columns=columns), left)
    if report.hold is not None:
        return waiting.requeue(attempt.lease, columns, "held", hold=report.hold)
    if clock.monotonic() >= attempt.deadline:
        return close(attempt, End(status=Status.TIMED_OUT, fault=TIMED_OUT, columns=columns), left)
    if attempt.runtime.draining.is_set():
        return waiting.requeue(attempt.lease, columns, "drained")
    raise LeaseLost("this attempt was stopped from elsewhere", execution=attempt.lease.ref)


def _columns(attempt: Attempt) -> dict[str, Any]:
    return {"active_ms": attempt.active_ms, "metrics": {"wall_ms": attempt.active_ms}}
