"""Brings an attempt to its end: calls in flight settle, the guest is dead, then one closing transaction."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from executions.capabilities.base import Effect
from executions.errors import StateChanged
from executions.models import Call, Execution
from executions.sandbox.shapes import NO_VALUE, Complete, Fatal, StateWrite, Turn
from executions.services import catalog, finish, journal, session_state, settle, streams, volume
from executions.services.attempt import Attempt
from executions.services.finish import UNKNOWN_EFFECT, End
from executions.services.journal import Ended
from executions.services.locks import workspace_lock
from executions.services.shapes import Fault
from executions.states import CallStatus, Status
from executions.transitions import held
from forge_project.kernel import clock, failpoints, hot
from forge_project.kernel.errors import TooLarge
from forge_project.ledger.writing import writing

_LOCK_SECONDS = 30.0
RETRYABLE = frozenset(("TIMEOUT", "ENGINE_NOT_READY"))


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
        for call, _ in left.unwritten:
            call.refresh_from_db()  # the first try was rolled back, but had moved them in memory
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
        kept = sum(volume.size(ended.told()) for _, ended in left.unwritten)
        kept += streams.size(left.last_turn) if left.last_turn else 0
        result = 0 if end.value is NO_VALUE else volume.size(end.value)
        if end.fault is None and (fault := _too_much(execution, kept + result)) is not None:
            end, result = replace(end, status=Status.FAILED, value=NO_VALUE, fault=fault), 0
        columns["bytes"] = execution.bytes + kept + result
        if end.fault is None and left.state is not None:
            session_state.commit(execution, left.state, left.writes)
        calls = finish.standing(execution)
        if any(call.status == CallStatus.UNKNOWN for call in calls):
            end = End(status=Status.UNKNOWN, fault=UNKNOWN_EFFECT, unawaited=end.unawaited)
        finish.finish(page, execution, replace(end, columns=columns), lease=attempt.lease, calls=calls)
    for call, _ in lost:
        settle.discard(call, attempt.execution)


def _too_much(execution: Execution, kept: int) -> Fault | None:
    try:
        volume.within(execution, kept)
    except TooLarge as error:
        return Fault(code=error.code, message=error.message, details=error.facts)
    return None


def _observe_lost(attempt: Attempt, written: set[int]) -> list[tuple[Call, settle.Observed]]:
    """Calls still prepared though nothing runs them: their outcome was lost on the way, so the world is looked at."""
    prepared = {"execution_id": attempt.execution.pk, "status": CallStatus.PREPARED}
    lost = tuple(pk for (pk,) in hot.values(Call, ("id",), prepared) if pk not in written)
    calls = hot.rows(Call, {"id": lost}, order="n") if lost else []
    place = attempt.execution.workspace
    writes = any(call.effect == Effect.WRITE for call in calls)
    with workspace_lock(place.name, clock.monotonic() + _LOCK_SECONDS) if place and writes else nullcontext():
        return [(call, settle.observe(call, attempt.execution, catalog.find(call.tool))) for call in calls]


def _say(execution: Execution, last_turn: Turn | None) -> dict[str, Any]:
    if last_turn is None:
        return {}
    streams.append(execution, [last_turn])
    told = streams.progress([last_turn], execution.ref)
    return {"progress": told} if told else {}


def end_of(frame: Complete | Fatal) -> End:
    """The guest's own ending as the execution's."""
    if isinstance(frame, Complete):
        return End(status=Status.SUCCEEDED, value=frame.value, unawaited=frame.unawaited)
    details = frame.details | ({"line": frame.line} if frame.line is not None else {})
    fault = Fault(code=frame.code, message=frame.message, retryable=frame.code in RETRYABLE, details=details)
    if frame.code == "CANCELLED":
        return End(status=Status.CANCELLED, fault=Fault(code="CANCELLED", message="cancelled"))
    return End(status=Status.TIMED_OUT if frame.code == "TIMEOUT" else Status.FAILED, fault=fault)
