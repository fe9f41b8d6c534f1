"""The recorded turns of a script, and its guest brought back to where they end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from executions.models import Call, Execution
from executions.sandbox.guest import Guest
from executions.sandbox.replay import Divergence, RecordedTurn, Tape, check, ended_early
from executions.sandbox.shapes import Fatal, Settled, Turn
from executions.services import sealed
from executions.services.attempt import Attempt
from forge_project.kernel import clock, hot
from forge_project.ledger import selectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """Where replay ended: the guest waits for its next settle, or `fault` says why there is none."""

    given: frozenset[int] = frozenset()
    fault: Fatal | None = None


def recorded_turns(execution: Execution) -> list[RecordedTurn]:
    """The execution's committed turns in order."""
    events = selectors.events(execution.invocation_id, kind="forge.turn")
    return [RecordedTurn.from_json(selectors.payload(event)["actions"]["forge"]["turn"]) for event in events]


def told(execution: Execution, numbers: tuple[int, ...]) -> list[Settled]:
    """What the guest was told of these calls, in this order."""
    asked = {"execution_id": execution.pk, "round": execution.round, "n": numbers}
    results = dict(hot.values(Call, ("n", "sealed_result"), asked)) if numbers else {}
    return [settled(n, sealed.unseal(results[n] or b"")) for n in numbers]


def settled(n: int, said: dict[str, Any]) -> Settled:
    """{ok, value or error} as the answer to call `n`."""
    return Settled(n=n, ok=said["ok"], value=said.get("value"), error=said.get("error"))


def replay(
    attempt: Attempt, guest: Guest, tape: Tape, turns: list[RecordedTurn], heard: Callable[[Turn], None]
) -> Replayed:
    """Feeds the recorded batches with the recorded clocks; the first difference ends the execution.

    `heard` gets each turn that was as recorded.
    """
    # Replay has a wall allowance of its own, equal to the limit.
    deadline = clock.monotonic() + attempt.execution.timeout_ms / 1000
    given: set[int] = set()
    for turn in turns:
        if turn.number > 1:
            guest.settle(told(attempt.execution, turn.given), grant=turn.grant, now=turn.now, catalog=turn.catalog)
            given |= set(turn.given)
        frame = guest.receive(deadline=deadline, stop=attempt.stop)
        match frame:
            case Turn():
                difference = check(turn, tape.said(frame))
                heard(frame)
            case Fatal() if frame.code in ("CANCELLED", "TIMEOUT", "ISOLATE_FAILURE", "ENGINE_NOT_READY"):
                return Replayed(fault=frame)
            case _:
                difference = ended_early(turn, frame)
        if difference is not None:
            return Replayed(fault=_diverged(turn.number, difference))
    guest.go_live(max(0, attempt.limits.cpu_ms - attempt.execution.cpu_ms))
    return Replayed(given=frozenset(given))


def _diverged(number: int, found: Divergence) -> Fatal:
    details = {"turn": number, "what": found.what, "expected": found.expected, "got": found.got}
    return Fatal(code="REPLAY_DIVERGED", message="the script did not repeat what it did before", details=details)
