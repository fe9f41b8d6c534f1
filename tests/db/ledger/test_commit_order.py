"""A reader that follows by position misses nothing, whoever commits when; and two that do the same do it once."""

import random
import threading
import time

import pytest
from django.db import connection, connections

from forge_project.kernel.errors import ForgeError
from forge_project.ledger import aftermath, operations, reads
from forge_project.ledger.aftermath import Resolution
from forge_project.ledger.events import fact
from forge_project.ledger.models import Event, Operation
from forge_project.ledger.operations import Outcome
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing
from tests.db.executions.test_races import at_once
from tests.db.ledger import identity
from tests.db.ledger.test_operations import BAD, GOOD, TOOL, bundle, step

pytestmark = pytest.mark.django_db(transaction=True)
SCOPE = reads.Scope(owner="user:ada", session_id="s")
ROUNDS = 20 if connection.vendor == "postgresql" else 5


def follow(until, limit=3):
    """Reads pages from the position of the last event until `until` events were seen."""
    position, seen = (0, 0), []
    end = time.monotonic() + 60
    while len(seen) < until and time.monotonic() < end:
        rows = reads.page(SCOPE, position, limit)
        seen += [(row.invocation_id, row.seq) for row in rows]
        position = rows[-1].position if rows else position
    return seen


def test_a_lower_id_that_commits_later_is_not_missed(db):
    """The first writer has the lower id and is still open when the second has committed."""
    if connection.vendor == "sqlite":
        return  # its second writer can't begin before the first has ended
    opened, read = threading.Event(), threading.Event()
    early = []

    def first():
        with writing("first", opening=identity("first")) as page:
            page.add(fact("one"))
            page.write()
            opened.set()
            assert read.wait(20)

    def second():
        assert opened.wait(20)
        with writing("second", opening=identity("second")) as page:
            page.add(fact("one"))
        early.extend(row.invocation_id for row in reads.page(SCOPE))
        read.set()

    at_once(first, second)
    assert early == []  # it is committed, but something may still come before it
    assert follow(2) == [("first", 1), ("second", 1)]


def test_a_reader_among_writers_sees_each_event_once_and_in_order(db):
    def write(name):
        def work():
            shuffled = random.Random(name)
            for n in range(25):
                with writing(name, opening=identity(name)) as page:
                    page.add(fact("step", n=n))
                    page.write()
                    if shuffled.random() < 0.3:
                        time.sleep(shuffled.random() / 200)

        return work

    seen = at_once(lambda: follow(100), *[write(f"w{n}") for n in range(4)])[0]
    assert len(seen) == len(set(seen)) == Event.objects.count() == 100
    for name in ("w0", "w1", "w2", "w3"):
        assert [seq for ref, seq in seen if ref == name] == list(range(1, 26))


def test_verifying_among_writers_is_no_false_alarm(db):
    def write(name):
        def work():
            for n in range(40):
                with writing(name, opening=identity(name)) as page:
                    page.add(fact("step", n=n))

        return work

    def look():
        return [found for _ in range(10) for found in verify().findings]

    assert at_once(look, *[write(f"w{n}") for n in range(4)])[0] == []


def outcomes(*jobs):
    ends = at_once(*jobs)
    return ["refused" if isinstance(end, ForgeError) else "done" for end in ends]


@pytest.fixture
def prepared():
    def make(n):
        name = f"round-{n}"
        tool = TOOL.__class__(**{slot: getattr(TOOL, slot) for slot in TOOL.__slots__} | {
            "operation_id": operations.operation_id(name, "c1")})  # fmt: skip

        def do(action, *args):
            with writing(name, opening=identity(name)) as page:
                return action(page, tool, *args)

        do(operations.request)
        do(operations.prepare, 1)
        return name, do

    return make


def test_the_same_bundle_twice_is_written_once_and_both_hear_so(prepared):
    for n in range(ROUNDS):
        name, do = prepared(n)
        same = bundle("completed", "matches_expected_state", GOOD)
        assert outcomes(*[lambda do=do, same=same: do(operations.recover, same)] * 2) == ["done", "done"]
        assert Event.objects.filter(invocation_id=name).count() == 5
    assert verify().findings == []


def test_of_two_that_differ_one_wins(prepared):
    for n in range(ROUNDS):
        _, do = prepared(n)
        rivals = [
            lambda do=do: do(operations.recover, bundle("completed", "matches_expected_state", GOOD)),
            lambda do=do: do(operations.recover, bundle("not_applied", "matches_prior_state", BAD)),
            lambda do=do: do(operations.outcome, Outcome(result={"true": 1})),
        ]
        assert sorted(outcomes(*rivals)) == ["done", "refused", "refused"]
    assert verify().findings == []
    assert not Operation.objects.filter(state="prepared").exists()


def test_two_operators_resolve_once():
    step(operations.prepare, TOOL, 1)
    step(operations.recover, TOOL, bundle("parked", "diverged"))
    ways = [Resolution(became=became, actor="user:otto", reason="r") for became in ("applied", "not_applied")]
    ends = outcomes(*[lambda way=way: step(aftermath.resolve, TOOL, way) for way in ways])
    assert sorted(ends) == ["done", "refused"]
    connections.close_all()
