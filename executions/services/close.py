"""Brings an attempt to its end: calls in flight settle, the guest is dead, then one closing transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from executions.errors import StateChanged
from executions.models import Call, Execution
from executions.sandbox.shapes import NO_VALUE, Complete, Fatal, StateWrite, Turn
from executions.services import catalog, finish, journal, session_state, settle, streams
from executions.services.attempt import Attempt
from executions.services.finish import UNKNOWN_EFFECT, End
from executions.services.journal import Ended
from executions.services.shapes import Fault
from executions.states import CallStatus, Status
from executions.transitions import held, move
from forge_project.kernel import failpoints
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing

RETRYABLE = frozenset(("TIMEOUT", "ENGINE_NOT_READY"))


def stopping(attempt: Attempt, reason: str) -> None:
    """Says that the end was asked for: from here on only cancelled, timed_out or unknown can be recorded."""
    with writing(attempt.lease.ref) as page:
        execution = held(page, attempt.lease)
        if execution.status == Status.RUNNING:
            event = fact("execution.stopping", attempt=attempt.lease.attempt, reason=reason)
            move(page, execution, Status.STOPPING, event, lease=attempt.lease)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What an attempt still holds when it ends: outcomes of reads, the final turn, the state overlay."""

    unwritten: Sequence[tuple[Call, Ended]] = ()
    last_turn: Turn | None = None
    state: session_state.Snapshot | None = None
    writes: Sequence[StateWrite] = ()


def close(attempt: Attempt, end: End, left: Leftovers) -> None:
    """The closing transaction; a state conflict makes a success a failure, an unknown call makes any end unknown."""
    try:
        _write(attempt, end, left)
    except StateChanged as error:
        fault = Fault(code=error.code, message=error.message, retryable=True, details=error.facts)
        _write(attempt, replace(end, status=Status.FAILED, value=NO_VALUE, fault=fault), replace(left, state=None))


def _write(attempt: Attempt, end: End, left: Leftovers) -> None:
    lost = _observe_lost(attempt, {call.pk for call, _ in left.unwritten})
    failpoints.reach("close.before")
    with writing(attempt.lease.ref) as page:
        execution = held(page, attempt.lease)
        for call, ended in left.unwritten:
            journal.finish(page, call, ended)
        for call, seen in lost:
            settle.write(page, call, attempt.lease.attempt, seen, retry=False)
        columns = (end.columns or {}) | _say(execution, left.last_turn)
        if end.fault is None and left.state is not None:
            session_state.commit(execution, left.state, left.writes)
        if Call.objects.filter(execution=execution, status=CallStatus.UNKNOWN).exists():
            end = End(status=Status.UNKNOWN, fault=UNKNOWN_EFFECT, unawaited=end.unawaited)
        finish.finish(page, execution, replace(end, columns=columns), lease=attempt.lease)


def _observe_lost(attempt: Attempt, written: set[int]) -> list[tuple[Call, settle.Observed]]:
    """Calls still prepared though nothing runs them: their outcome was lost on the way, so the world is looked at."""
    prepared = Call.objects.filter(execution=attempt.execution, status=CallStatus.PREPARED).exclude(pk__in=written)
    return [(call, settle.observe(call, attempt.execution, catalog.find(call.tool))) for call in prepared.order_by("n")]


def _say(execution: Execution, last_turn: Turn | None) -> dict[str, Any]:
    if last_turn is None:
        return {}
    streams.append(execution, [last_turn])
    told = streams.progress([last_turn], execution.ref)
    return {"progress": told} if told else {}


def end_of(frame: Complete | Fatal, *, cancelled: bool) -> End:
    """The guest's own ending as the execution's; after a stop was asked for it is what was asked for."""
    if isinstance(frame, Complete) and not cancelled:
        return End(status=Status.SUCCEEDED, value=frame.value, unawaited=frame.unawaited)
    if isinstance(frame, Complete) or frame.code == "CANCELLED" or cancelled:
        unawaited = frame.unawaited if isinstance(frame, Complete) else ()
        fault = Fault(code="CANCELLED", message="cancelled")
        return End(status=Status.CANCELLED, fault=fault, unawaited=unawaited)
    details = frame.details | ({"line": frame.line} if frame.line is not None else {})
    fault = Fault(code=frame.code, message=frame.message, retryable=frame.code in RETRYABLE, details=details)
    return End(status=Status.TIMED_OUT if frame.code == "TIMEOUT" else Status.FAILED, fault=fault)
