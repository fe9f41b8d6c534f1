"""Whether a guest that runs again says what it said before; pure, and without knowledge of where turns are kept."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from executions.sandbox.shapes import Answer, Complete, Fatal, Json, Turn

Digest = Callable[[Json], str]
SLEEP = "sleep"  # the tool name a sleep has in a record


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call or sleep as it was asked."""

    n: int
    tool: str
    digest: str


@dataclass(frozen=True, slots=True)
class Mark:
    """How much of one stream there is so far, and its running digest."""

    count: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What a turn comes down to, with the streams counted from the first turn on."""

    calls: tuple[RecordedCall, ...] = ()
    output: Mark = Mark()
    log: Mark = Mark()
    progress: Mark = Mark()
    state: Mark = Mark()
    catalog: Mark = Mark()


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One committed turn: what the guest was given before it, then what it said."""

    number: int  # from 1
    given: tuple[int, ...]  # n of the results delivered, in order; empty for turn 1
    grant: int
    now: int
    said: Said
    catalog: tuple[Answer, ...] = ()  # the answers delivered with `given`

    def to_json(self) -> dict[str, Json]:
        """The content of a `forge.turn` event."""
        said = {**asdict(self.said), "calls": [asdict(call) for call in self.said.calls]}
        answers = [answer.wire() for answer in self.catalog]
        return {**asdict(self), "given": list(self.given), "said": said, "catalog": answers}

    @classmethod
    def from_json(cls, event: dict[str, Any]) -> "RecordedTurn":
        """The inverse of to_json."""
        said = event["said"]
        calls = tuple(RecordedCall(**call) for call in said["calls"])
        marks = {name: Mark(**said[name]) for name in STREAMS if name in said}
        answers = tuple(_answer(told) for told in event.get("catalog", ()))
        heard = Said(calls=calls, **marks)
        return cls(event["number"], tuple(event["given"]), event["grant"], event["now"], heard, answers)


def _answer(told: dict[str, Any]) -> Answer:
    return Answer(told["request_id"], told["ok"], tuple(told.get("entries", ())), told.get("error"))


STREAMS = ("output", "log", "progress", "state", "catalog")


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference: which part of the turn, and both values (digests, never content)."""

    what: str
    expected: Json
    got: Json


class Tape:
    """Reduces the turns of one attempt, in order, to what is recorded. `digest` is keyed by the caller."""

    def __init__(self, digest: Digest) -> None:
        self._digest = digest
        self._marks = dict.fromkeys(STREAMS, Mark())

    def said(self, turn: Turn) -> Said:
        """Takes the next turn; each turn exactly once."""
        calls = [RecordedCall(call.n, call.tool, self._digest(call.input)) for call in turn.calls]
        calls += [RecordedCall(sleep.n, SLEEP, self._digest({"ms": sleep.ms})) for sleep in turn.sleep]
        progress = [] if turn.progress is None else [asdict(turn.progress)]
        self._run("output", list(turn.output))
        self._run("log", [list(line) for line in turn.log])
        self._run("progress", progress)
        self._run("state", [asdict(write) for write in turn.state])
        self._run("catalog", [lookup._asdict() for lookup in turn.catalog])
        return Said(calls=tuple(sorted(calls, key=lambda call: call.n)), **self._marks)

    def _run(self, stream: str, items: list[Json]) -> None:
        mark = self._marks[stream]
        if items:
            self._marks[stream] = Mark(mark.count + len(items), self._digest([mark.digest, items]))


def ended_early(recorded: RecordedTurn, end: Complete | Fatal) -> Divergence:
    """The difference of a guest that ended where a turn is recorded."""
    return Divergence("turn", recorded.number, end.code if isinstance(end, Fatal) else "complete")


def check(recorded: RecordedTurn, said: Said) -> Divergence | None:
    """The first difference between a recorded turn and what the guest said now; None if there is none."""
    then = recorded.said
    for at, (old, new) in enumerate(zip(then.calls, said.calls, strict=False)):
        if old != new:
            return Divergence(f"calls/{at}", asdict(old), asdict(new))
    if len(then.calls) != len(said.calls):
        return Divergence("calls", len(then.calls), len(said.calls))
    for stream in STREAMS:
        old_mark, new_mark = getattr(then, stream), getattr(said, stream)
        if old_mark != new_mark:
            return Divergence(stream, asdict(old_mark), asdict(new_mark))
    return None
