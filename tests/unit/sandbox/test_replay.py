"""Replay: a guest killed anywhere and run again makes no call twice and ends as if nothing had happened."""

import json
import random
from dataclasses import asdict, replace

import pytest

from executions.sandbox import Complete, Fatal, RecordedTurn, Tape, Turn, check
from executions.sandbox.replay import Divergence, Mark, RecordedCall, Said
from executions.sandbox.shapes import Answer, Asked, Progress, Sleep, StateWrite
from tests.unit.sandbox.histories import POINTS, Attempt, Died, World, digest, script


@pytest.mark.parametrize("seed", range(160))
def test_killed_anywhere_it_ends_as_undisturbed(zygote, seed):
    source, calm = script(seed), World(seed)
    end = Attempt(zygote, calm, source).run()
    assert isinstance(end, Complete | Fatal)
    chance = random.Random(seed)
    world, deaths = World(seed), 0
    for _ in range(3):  # three workers die on the way, then one gets through
        die = (chance.randint(1, max(1, len(calm.turns))), chance.choice(POINTS))
        try:
            resumed = Attempt(zygote, world, source, die=die).run()
        except Died:
            deaths += 1
        else:
            assert resumed == end
    assert Attempt(zygote, world, source).run() == end
    assert world.turns == calm.turns
    assert world.outcomes == calm.outcomes
    assert set(world.happened.values()) <= {1}
    assert deaths or not calm.turns


def test_scripts_are_varied():
    sources = [script(seed) for seed in range(50)]
    for part in (
        "Promise.all",
        "Promise.race",
        "state.set",
        "Date.now",
        "catalog.",
        "Math.random",
        "throw new",
        "sleep(",
        "floated",
    ):
        assert sum(part in source for source in sources) >= 5


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"seed": "another"}, "calls/0"),
        ({"source": "await tools.call('t', 1); text('b')"}, "calls/0"),
        ({"source": "await tools.call('u', Math.random()); text('b')"}, "calls/0"),
        ({"source": "tools.call('t', Math.random()); await tools.call('t', 2); text('b')"}, "calls"),
        ({"source": "text('a'); await tools.call('t', Math.random()); text('b')"}, "output"),
        ({"source": "console.log('a'); await tools.call('t', Math.random()); text('b')"}, "log"),
        ({"source": "progress('a'); await tools.call('t', Math.random()); text('b')"}, "progress"),
        ({"source": "state.set('a', 1); await tools.call('t', Math.random()); text('b')"}, "state"),
        ({"source": "await tools.call('t', Math.random()); text('c'); await sleep(1)"}, "calls"),
        ({"source": "await tools.call('t', Math.random()); text('c')"}, "output"),
        ({"source": "catalog.search('x'); await tools.call('t', Math.random()); text('b')"}, "catalog"),
        ({"source": "return 1"}, "turn"),
        ({"source": "await tools.call('t', Math.random())"}, "turn"),
    ],
)
def test_the_first_difference_is_named_and_nothing_is_dispatched(zygote, other, what):
    world = World(1)
    source = "await tools.call('t', Math.random()); text('b')"
    assert isinstance(Attempt(zygote, world, source).run(), Complete)
    happened = dict(world.happened)
    found = Attempt(zygote, world, **({"source": source} | other)).run()
    assert isinstance(found, Divergence)
    assert found.what == what
    assert found.expected != found.got
    assert world.happened == happened


def test_a_record_is_json_and_comes_back():
    turn = Turn(
        calls=(Asked(2, "t", {"a": 1}, "why"),),
        sleep=(Sleep(1, 5),),
        output=("x",),
        log=(("warn", "y"),),
        progress=Progress("p", 1, None),
        state=(StateWrite("k", 1), StateWrite("l", deleted=True)),
    )
    said = Tape(digest).said(turn)
    answers = (Answer(1, entries=({"name": "a"},)), Answer(2, ok=False, error={"code": "TOOL_NOT_FOUND"}))
    record = RecordedTurn(3, (1, 2), 2, 17, said, answers)
    event = json.loads(json.dumps(record.to_json()))
    assert RecordedTurn.from_json(event) == record
    assert check(record, said) is None
    assert [(call.n, call.tool) for call in said.calls] == [(1, "sleep"), (2, "t")]
    assert said.calls[1].digest == digest({"a": 1})
    assert "why" not in json.dumps(event)


def test_streams_are_counted_from_the_first_turn_on():
    tape = Tape(digest)
    first, second = tape.said(Turn(output=("a", "b"))), tape.said(Turn(output=("c",)))
    assert (first.output.count, second.output.count) == (2, 3)
    other = Tape(digest)
    other.said(Turn(output=("a",)))
    assert other.said(Turn(output=("b", "c"))).output.digest != second.output.digest
    assert tape.said(Turn()).output == second.output


def test_check_names_both_values():
    record = RecordedTurn(1, (), 0, 0, Said(calls=(RecordedCall(1, "t", "d"),)))
    got = check(record, replace(record.said, calls=(RecordedCall(1, "t", "e"),)))
    assert got == Divergence("calls/0", asdict(RecordedCall(1, "t", "d")), asdict(RecordedCall(1, "t", "e")))
    assert check(record, replace(record.said, state=Mark(1, "s"))).what == "state"
