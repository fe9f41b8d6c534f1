"""A driver with its ledger in memory: turns committed, outcomes kept, killed where a test says, resumed by replay."""

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from executions.sandbox import Complete, Fatal, RecordedTurn, Settled, Tape, Turn, check, ended_early
from forge_project.kernel.canonical import canonical, sha256
from tests.unit.sandbox.driving import NOW, look_up, start

POINTS = ("received", "committed", "executed", "settled")


def digest(value):
    return sha256(b"key" + canonical(value))


class Died(Exception):
    """The worker was killed here."""


@dataclass
class World:
    """What outlives a worker: the ledger, and how often each call really happened."""

    seed: int
    turns: list[str] = field(default_factory=list)  # forge.turn events
    outcomes: dict[int, Settled] = field(default_factory=dict)
    happened: Counter = field(default_factory=Counter)

    def history(self):
        return [RecordedTurn.from_json(json.loads(text)) for text in self.turns]

    def commit(self, turn: RecordedTurn):
        self.turns.append(json.dumps(turn.to_json()))

    def execute(self, n, tool, value):
        if n in self.outcomes:
            return
        self.happened[n] += 1
        error = {"code": "TOOL_FAILED", "message": f"call {n}", "retryable": False}
        self.outcomes[n] = Settled(n=n, ok=False, error=error) if tool == "fail" else Settled(n=n, value=value)


class Attempt:
    """One guest over one World; raises Died at (turn number, point)."""

    def __init__(self, zygote, world, source, *, die=(0, ""), **given):
        self.world, self.die = world, die
        self.tape = Tape(digest)
        self.guest = zygote.spawn(start(source, replaying=bool(world.turns), **given))
        self.open: dict[int, tuple] = {}
        self.given, self.grant, self.now, self.catalog = (), 0, NOW, ()
        self.asked = Turn()

    def run(self):
        try:
            return self._replay() or self._live()
        finally:
            assert self.guest.kill()

    def _replay(self):
        """Feeds what is recorded; a Divergence ends it."""
        for number, recorded in enumerate(self.world.history(), 1):
            if number > 1:
                self._give(recorded.given, recorded.grant, recorded.now, recorded.catalog)
            turn = self._receive()
            if not isinstance(turn, Turn):
                return ended_early(recorded, turn)
            if (divergence := check(recorded, self.tape.said(turn))) is not None:
                return divergence
        self.guest.go_live()
        return None

    def _live(self):
        number = len(self.world.turns)
        if number:
            self._next_batch(number)
        while True:
            number += 1
            turn = self._receive()
            if isinstance(turn, Complete | Fatal):
                return turn
            self._maybe_die(number, "received")
            self.world.commit(self._recorded(number, turn))
            self._maybe_die(number, "committed")
            self._next_batch(number)
            self._maybe_die(number, "settled")

    def _recorded(self, number, turn):
        return RecordedTurn(number, self.given, self.grant, self.now, self.tape.said(turn), self.catalog)

    def _next_batch(self, number):
        """Executes what is in flight and delivers some of it: chosen by the turn's number alone, as is the clock."""
        chance = random.Random(f"{self.world.seed}:{number}")
        numbers = sorted(self.open)
        chance.shuffle(numbers)
        batch = tuple(numbers[: chance.randint(1, len(numbers))]) if numbers else ()
        for n in batch:
            self.world.execute(n, *self.open[n])
        self._maybe_die(number, "executed")
        self._give(batch, len(batch), NOW + 1000 * number, tuple(look_up(self.asked)))

    def _give(self, numbers, grant, now, catalog):
        for n in numbers:
            del self.open[n]
        self.given, self.grant, self.now, self.catalog = tuple(numbers), grant, now, catalog
        self.guest.settle([self.world.outcomes[n] for n in numbers], grant=grant, now=now, catalog=catalog)

    def _receive(self):
        turn = self.guest.receive(deadline=time.monotonic() + 10)
        if isinstance(turn, Turn):
            self.asked = turn
            self.open |= {call.n: (call.tool, call.input) for call in turn.calls}
            self.open |= {sleep.n: ("sleep", None) for sleep in turn.sleep}
        return turn

    def _maybe_die(self, number, point):
        if (number, point) == self.die:
            raise Died


def script(seed):
    """A random script: calls alone, together and racing, state, clock, random, sleeps, errors caught or not."""
    chance = random.Random(seed)
    lines = ["const out = [];"]
    for k in range(chance.randint(2, 7)):
        call = f"tools.call('t', {{k: {k}, r: Math.random()}})"
        lines.append(
            chance.choice(
                [
                    f"out.push(await {call});",
                    f"out.push(await Promise.all([{call}, {call}, {call}]));",
                    f"out.push(await Promise.all(Array.from({{length: 12}}, (_, i) => tools.call('t', [i, {k}]))));",
                    f"out.push(await Promise.race([{call}, sleep({k}), {call}]));",
                    f"const s{k} = await Promise.allSettled([{call}, tools.call('fail', {k})]);"
                    f"out.push(s{k}.map((x) => x.status));",
                    f"try {{ await tools.call('fail', {k}) }} catch (e) {{ out.push(e.code + e.message) }}",
                    f"state.set('k{k % 3}', [state.get('k{(k + 1) % 3}'), Math.random()]);"
                    f"state.delete('k{(k + 2) % 3}');",
                    "text('now ' + Date.now() + ' ' + Math.random()); console.log(out.length);",
                    f"progress('step {k}', {{completed: {k}, total: 9}}); await sleep({k} * 10);",
                    f"{call}.then((v) => {{ text('floated ' + v.k) }});",
                    f"if (Math.random() < 0.3) throw new Error('step {k} at ' + Date.now());",
                    f"tools.call('fail', {k});",
                    f"out.push((await catalog.search('file', {{limit: 1 + {k} % 3}})).map((c) => c.name));",
                    f"out.push(await Promise.allSettled(['file.read', 'x'].map(catalog.describe).concat({call})));",
                ]
            )
        )
    return "\n".join([*lines, "return [out, Date.now(), Math.random()];"])
