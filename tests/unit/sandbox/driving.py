"""Drives real guests in tests: answers each turn at once, keeps what was said."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from executions.sandbox import Answer, Asked, Complete, Fatal, Guest, Limits, Settled, Start, Turn, Zygote, engine

ENGINE = engine.check().name
OLD = ENGINE == "quickjs"  # 1.19.4, an engine of 2021
NOW = 1_700_000_000_000
Tool = Callable[[Asked], Settled]


def echo(call: Asked) -> Settled:
    """The default tool: `fail` fails, everything else gives its input back."""
    if call.tool == "fail":
        error = {"code": "TOOL_FAILED", "message": "it failed", "retryable": True, "details": {"why": "test"}}
        return Settled(n=call.n, ok=False, error=error)
    return Settled(n=call.n, value=call.input)


KNOWN = {
    name: {"name": name, "summary": f"about {name}", "effect": "read", "input_schema": {"type": "object"}}
    for name in ("file.list", "file.read", "file.write")
}


def look_up(turn: Turn) -> list[Answer]:
    """The answers of a catalog that knows KNOWN."""
    error = {"code": "TOOL_NOT_FOUND", "message": "no such capability", "retryable": False}
    answers = []
    for lookup in turn.catalog:
        found = [entry for name, entry in KNOWN.items() if lookup.query in name][: lookup.limit]
        if lookup.op == "describe":
            found = [entry for entry in found if entry["name"] == lookup.query]
        known = lookup.op == "search" or found
        answers.append(Answer(lookup.request_id, bool(known), tuple(found), None if known else error))
    return answers


@dataclass
class Run:
    """How one script went."""

    end: Complete | Fatal
    turns: list[Turn] = field(default_factory=list)
    seconds: float = 0.0
    reaped: bool = False

    @property
    def value(self) -> Any:
        assert isinstance(self.end, Complete), self.end
        return self.end.value

    @property
    def code(self) -> str:
        return self.end.code if isinstance(self.end, Fatal) else "OK"

    @property
    def output(self) -> list[str]:
        return [text for turn in self.turns for text in turn.output]

    @property
    def log(self) -> list[tuple[str, str]]:
        return [line for turn in self.turns for line in turn.log]

    @property
    def calls(self) -> list[Asked]:
        return [call for turn in self.turns for call in turn.calls]

    @property
    def state(self) -> dict[str, Any]:
        return {w.key: None if w.deleted else w.value for turn in self.turns for w in turn.state}


def start(source: str, **given: Any) -> Start:
    """A Start with test defaults; limits as keywords of Limits."""
    limits = {name: given.pop(name) for name in list(given) if name in Limits.__slots__}
    return Start(source=source, **({"seed": "seed", "now": NOW, "limits": Limits(**limits)} | given))


def run(zygote: Zygote, source: str, *, tool: Tool = echo, seconds: float = 10.0, **given: Any) -> Run:
    """The whole life of one script."""
    began = time.monotonic()
    guest = zygote.spawn(start(source, **given))
    done = drive(guest, tool=tool, seconds=seconds)
    done.seconds = time.monotonic() - began
    done.reaped = guest.kill()
    return done


def drive(guest: Guest, *, tool: Tool = echo, seconds: float = 10.0) -> Run:
    """Answers turns until the end; the clock moves a second a turn."""
    turns: list[Turn] = []
    while True:
        frame = guest.receive(deadline=time.monotonic() + seconds)
        if not isinstance(frame, Turn):
            return Run(frame, turns)
        turns.append(frame)
        results = [tool(call) for call in frame.calls] + [Settled(n=sleep.n) for sleep in frame.sleep]
        guest.settle(results, grant=len(results), now=NOW + 1000 * len(turns), catalog=look_up(frame))
