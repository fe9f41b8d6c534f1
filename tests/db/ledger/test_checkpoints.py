"""Checkpoints, the sink, receipts, tombstones: what is signed holds, what is not is a finding."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from forge_project.kernel import clock, failpoints
from forge_project.ledger import checkpoints, governance, ports, restoring, selectors, sink
from forge_project.ledger.events import fact
from forge_project.ledger.models import Checkpoint, Event, Invocation, Operation, Tombstone
from forge_project.ledger.tombstones import Purge, purge
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing, writing_after
from tests.db.ledger import identity, without_triggers

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def file(settings, tmp_path):
    settings.FORGE_VAR = tmp_path
    settings.FORGE_CHECKPOINT_SINK = str(tmp_path / "elsewhere" / "sink.jsonl")
    return tmp_path / "elsewhere" / "sink.jsonl"


def write(name, *facts):
    with writing(name, opening=identity(name)) as page:
        for one in facts or (fact("step"),):
            page.add(one)


def end():
    return fact("end", status="completed")


def sql(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def problems(**more):
    return {(found.invocation, found.seq, found.problem) for found in verify(**more).findings}


def test_checkpoints_are_signed_chained_and_sent(file):
    write("a"), write("b")
    assert checkpoints.take() == [1]
    assert checkpoints.take() == []
    write("b")
    assert checkpoints.take() == [2]
    first, second = sink.read(file)
    assert [head[:2] for head in first.body()["heads"]] == [["a", 1], ["b", 1]]
    assert [head[:2] for head in second.body()["heads"]] == [["b", 2]]
    assert second.body()["prev"] == first.digest
    assert problems(against=file) == set()
    assert file.stat().st_mode & 0o777 == (file.parent.parent / "checkpoint.key").stat().st_mode & 0o777 == 0o600


def test_many_heads_make_several_checkpoints(monkeypatch, file):
    monkeypatch.setattr(checkpoints, "HEADS", 2)
    for name in "abcde":
        write(name)
    assert checkpoints.take() == [1, 2, 3]
    assert problems(against=file) == set()


@pytest.mark.parametrize("point", ["ledger.checkpoint", "ledger.sink"])
def test_a_crash_while_checkpointing_leaves_one_chain(file, point):
    write("a")
    with failpoints.crash_at(point):
        checkpoints.take()
    write("b")
    checkpoints.take()
    numbers = [line.body()["checkpoint"] for line in sink.read(file)]
    assert numbers == sorted(set(numbers))
    assert not Checkpoint.objects.filter(sent=False).exists()
    assert problems(against=file) == set()


def test_a_torn_line_is_passed_over(file):
    write("a")
    checkpoints.take()
    file.write_text(file.read_text() + '{"payload": "half')
    write("b")
    checkpoints.take()
    assert sink.last(file).body()["checkpoint"] == 2
    assert problems(against=file) == set()


def forge(**columns):
    sql(
        f"UPDATE ledger_checkpoint SET {', '.join(f'{name} = %s' for name in columns)} WHERE number = 1",
        *columns.values(),
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda: forge(signature="AAAA"), "forged_checkpoint"),
        (lambda: forge(key_id="0" * 16), "forged_checkpoint"),
        (lambda: forge(payload='{"checkpoint": 1}'), "checkpoint_edited"),
        (lambda: forge(payload="x"), "checkpoint_edited"),
        (lambda: sql("DELETE FROM ledger_checkpoint WHERE number = 1"), "checkpoint_missing"),
    ],
)
def test_a_changed_checkpoint_is_found(change, problem):
    write("a")
    checkpoints.take()
    write("a")
    checkpoints.take()
    change()
    assert ("forge:checkpoints", 1, problem) in problems()


def test_checkpoints_taken_away_too_are_missed_by_the_sink(file):
    write("a", fact("one"), fact("two")), write("b")
    checkpoints.take()
    without_triggers()
    sql("DELETE FROM ledger_checkpoint")
    sql("DELETE FROM ledger_event WHERE invocation_id = 'b'")
    sql("DELETE FROM ledger_invocation WHERE id = 'b'")
    assert problems() == set()  # nothing here knows of b any more
    assert problems(against=file) == {("b", 0, "invocation_missing"), ("forge:checkpoints", 1, "checkpoint_missing")}


def test_a_receipt_is_evidence(tmp_path):
    write("a", fact("one"), fact("two"))
    told = selectors.receipt("a")
    path = tmp_path / "receipts"
    path.write_text(json.dumps({"invocation": "a", "seq": told.seq, "head": told.head}) + "\n")
    assert problems(against=path) == set()
    path.write_text(json.dumps({"invocation": "a", "seq": 1, "head": "0" * 64}) + "\n")
    assert problems(against=path) == {("a", 1, "rewritten")}
    path.write_text(json.dumps({"invocation": "a", "seq": 3, "head": "0" * 64}) + "\n")
    assert problems(against=path) == {("a", 3, "rolled_back")}


def test_before_a_checkpoint_other_rows_bear_witness(monkeypatch):
    write("a")
    assert problems() == set()
    monkeypatch.setitem(ports.witnesses, "approval", lambda: ["lost"])
    assert problems() == {("lost", 0, "invocation_missing")}


def purged(**more):
    asked = {"before": clock.text(clock.now()), "actor": "operator:otto", "reason": "retention"} | more
    return purge(Purge(**asked))


def test_whole_sealed_invocations_go_and_a_signed_tombstone_stays(file):
    write("open"), write("done", fact("one"), end())
    write("family", end())
    with writing_after("family") as page:
        page.add(fact("later"))
    assert purged() == 0  # nothing is checkpointed
    checkpoints.take()
    assert purged() == 1
    assert not Event.objects.filter(invocation_id="done").exists()
    assert Event.objects.filter(invocation_id="open").count() == 1
    said = Event.objects.get(invocation_id=governance.GOVERNANCE)
    assert json.loads(said.payload)["actions"]["forge"] == {
        "fact": "ledger.purged", "invocation": "done", "events": 2, "actor": "operator:otto", "reason": "retention",
    }  # fmt: skip
    assert problems(against=file) == set()
    with writing_after("family") as page:
        page.add(end())
    checkpoints.take()
    assert purged() == 1  # both of the family
    assert Tombstone.objects.count() == 3
    assert problems(against=file) == set()
    assert purged(before="2000-01-01T00:00:00.000000Z") == 0


def test_a_forged_tombstone_is_a_finding():
    write("a", end())
    checkpoints.take()
    purged()
    assert problems() == set()
    sql("UPDATE ledger_tombstone SET signature = 'AAAA'")
    assert ("a", 0, "forged_tombstone") in problems()
    assert ("a", 1, "missing") in problems()


def test_a_tombstone_vouches_for_its_own_head_only():
    write("a", end()), write("b", end())
    checkpoints.take()
    purged()
    sql("UPDATE ledger_invocation SET head_seq = 2 WHERE id = 'a'")
    assert ("a", 1, "missing") in problems()


def test_a_crash_while_purging_leaves_everything():
    write("a", end())
    checkpoints.take()
    with failpoints.crash_at("ledger.purge"):
        purged()
    assert (Event.objects.count(), Tombstone.objects.count(), Operation.objects.count()) == (1, 0, 0)
    assert problems() == set()


def test_a_database_older_than_its_sink_goes_on_after_restore(file):
    write("a")
    checkpoints.take()
    write("b")
    checkpoints.take()
    without_triggers()  # the backup was made before b
    sql("DELETE FROM ledger_checkpoint WHERE number = 2")
    sql("DELETE FROM ledger_event WHERE invocation_id = 'b'")
    sql("DELETE FROM ledger_invocation WHERE id = 'b'")
    assert problems(against=file) == {("b", 0, "invocation_missing"), ("forge:checkpoints", 2, "checkpoint_missing")}
    assert restoring.behind()
    assert list(restoring.rolled_back()) == [("b", 1)]
    assert restoring.restore() == 3
    assert restoring.restore() is None
    assert not restoring.behind()
    write("c")
    checkpoints.take()
    assert problems(against=file) == set()


def test_the_commands_say_what_they_did(file):
    def said(*args):
        out = StringIO()
        call_command(*args, stdout=out)
        return out.getvalue().strip()

    write("a", end())
    assert said("ledger_checkpoint") == "checkpoint 1"
    assert said("ledger_checkpoint", "--json") == '{"checkpoints": []}'
    assert said("ledger_verify", "--against", str(file)) == "ledger verified: 1 events"
    assert (
        said("purge", "--days", "0", "--dry-run") == "1 invocations, 0 deliveries, 0 signals, 0 tokens would be removed"
    )
    assert said("purge", "--days", "0") == "1 invocations, 0 deliveries, 0 signals, 0 tokens removed"
    assert said("ledger_verify", "--against", str(file)) == "ledger verified: 1 events"
    assert Invocation.objects.get(pk="a").head_seq == 1
