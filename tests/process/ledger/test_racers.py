"""Two processes at one step: of the same, one writes and both get one answer; of conflicting ones, one wins."""

import json
import subprocess

import pytest

ROUNDS = 10
#  what comes before, the step, what contradicts it
STEPS = [
    ([], "t1", "t1 again"),
    (["t1"], "t2", "t2 failed"),
    (["t1"], "completed", "not applied"),
    (["t1"], "completed", "t2 failed"),
    (["t1"], "parked", "completed"),
    (["t1", "parked"], "applied", "refuted"),
]


class Racer:
    def __init__(self, site):
        self._process = site.python("tests.process.ledger.racer", stdin=subprocess.PIPE, stderr=None)
        assert self.answer() == {"ready": True}

    def send(self, do, name):
        self._process.stdin.write(json.dumps({"do": do, "name": name}) + "\n")
        self._process.stdin.flush()

    def answer(self):
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.communicate(timeout=10)


@pytest.fixture
def two(site):
    both = [Racer(site), Racer(site)]
    yield both
    for one in both:
        one.close()


def race(two, before, steps, name):
    """Each takes one of `steps` at once; their answers, in the order of `steps`."""
    for step in before:
        two[0].send(step, name)
        assert "ids" in two[0].answer()
    for one, step in zip(two, steps, strict=True):
        one.send(step, name)
    return [one.answer() for one in two]


def test_the_same_step_is_written_once_and_answered_alike(site, two):
    for number, (before, step, _) in enumerate(STEPS * ROUNDS):
        one, other = race(two, before, [step, step], f"same-{number}")
        written = [answer for answer in (one, other) if answer["created"] and all(answer["created"])]
        assert len(written) == 1, (step, one, other)
        late = other if written[0] is one else one
        assert not any(late["created"]), step
        if step == "t1":  # "this very attempt has prepared it": it may not dispatch again
            assert (written[0]["said"], late["said"]) == (True, False)
        else:
            assert late["ids"] == written[0]["ids"], step
    assert site.verify()["findings"] == []


def test_of_conflicting_steps_one_wins(site, two):
    for number, (before, *turn) in enumerate(STEPS * ROUNDS):
        first = turn if number // len(STEPS) % 2 else turn[::-1]
        answers = race(two, before, first, f"conflict-{number}")
        won = [answer for answer in answers if "ids" in answer]
        if "parked" in turn and len(won) == 2:  # parked first, then seen to have converged: two decisions, in order
            parked, completed = (answers[first.index(name)] for name in ("parked", "completed"))
            assert parked["ids"][-1][1] < completed["ids"][0][1]
            continue
        assert len(won) == 1, (turn, answers)
        assert all(won[0]["created"])
        (lost,) = [answer for answer in answers if "refused" in answer]
        assert lost["refused"] in ("OPERATION_CONFLICT", "EVENT_CONFLICT"), lost
    assert site.verify()["findings"] == []
