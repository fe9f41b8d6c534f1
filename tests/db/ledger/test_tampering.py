"""200 random tamperings behind the triggers' back, on a checkpointed ledger of 10,000 events: each found in place."""

import random

import pytest
from django.db import connection, transaction

from forge_project.ledger import checkpoints
from forge_project.ledger.events import chain, fact
from forge_project.ledger.models import Event, Invocation
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing, writing_after
from tests.db.ledger import identity, without_triggers

pytestmark = pytest.mark.django_db
CHAINS, EACH, ROUNDS, AT_ONCE = 100, 100, 200, 8


@pytest.fixture
def ledger(settings, tmp_path):
    settings.FORGE_VAR = tmp_path
    for n in range(CHAINS):
        name = f"chain-{n:03}"
        with writing(name, opening=identity(name)) as page:
            for at in range(EACH - (10 if n % 10 == 0 else 0)):
                page.add(fact("step", n=at, note="x" * 40))
            if n % 10 == 0:
                page.add(fact("end", status="completed"))
        if n % 10 == 0:
            with writing_after(name) as page:
                for at in range(9):
                    page.add(fact("after", n=at))
    checkpoints.take()
    assert Event.objects.count() == CHAINS * EACH


def sql(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.rowcount


def edit_payload(pick):
    row = pick.event()
    sql("UPDATE ledger_event SET payload = replace(payload, '\"ts\":', '\"ts\":1') WHERE id = %s", row.pk)
    return row.invocation_id, row.seq


def edit_column(pick):
    row = pick.event()
    column, value = pick.random.choice(
        [("committed_at", "2020-01-01T00:00:00.000000Z"), ("kind", "other"), ("source", "agent"), ("owner", "user:eve"),
         ("event_id", f"other-{pick.random.random()}"), ("operation_id", "toolop_x"), ("hash", "0" * 64),
         ("prev_hash", "0" * 64)]
    )  # fmt: skip
    sql(f"UPDATE ledger_event SET {column} = %s WHERE id = %s", value, row.pk)
    return row.invocation_id, row.seq


def delete(place):
    def tamper(pick):
        ref = pick.invocation()
        seq = {"first": 1, "last": ref.head_seq, "middle": pick.random.randint(2, ref.head_seq - 1)}[place]
        assert sql("DELETE FROM ledger_event WHERE invocation_id = %s AND seq = %s", ref.pk, seq) == 1
        return ref.pk, seq

    return tamper


def delete_invocation(pick):
    ref = pick.invocation()
    sql("DELETE FROM ledger_event WHERE invocation_id = %s", ref.pk)
    sql("DELETE FROM ledger_invocation WHERE id = %s", ref.pk)
    return ref.pk, 0


def insert(pick):
    row = pick.event()
    seq = pick.random.choice([row.seq, Invocation.objects.get(pk=row.invocation_id).head_seq + 1])
    if seq == row.seq:
        sql(
            "UPDATE ledger_event SET seq = seq + 1000000 WHERE invocation_id = %s AND seq >= %s", row.invocation_id, seq
        )
        sql("UPDATE ledger_event SET seq = seq - 999999 WHERE invocation_id = %s AND seq > 900000", row.invocation_id)
    before = Event.objects.get(invocation_id=row.invocation_id, seq=seq - 1).hash if seq > 1 else row.prev_hash
    place = (before, row.invocation_id, seq, f"forged-{pick.random.random()}", "forge", row.committed_at)
    payload = row.payload.replace(row.event_id, place[3])
    Event.objects.create(
        invocation_id=row.invocation_id, seq=seq, event_id=place[3], owner=row.owner, kind=row.kind, source="forge",
        payload=payload, committed_at=row.committed_at, prev_hash=before, hash=chain(*place, payload),
    )  # fmt: skip
    return row.invocation_id, seq + (seq == row.seq)


def reorder(pick):
    """An event is taken out and put in again further on; those between move up."""
    ref = pick.invocation()
    low = pick.random.randint(1, ref.head_seq - 2)
    high = pick.random.randint(low + 2, ref.head_seq)
    _put(ref, {low: high} | {seq: seq - 1 for seq in range(low + 1, high + 1)})
    return ref.pk, low


def swap(pick):
    ref = pick.invocation()
    low, high = sorted(pick.random.sample(range(1, ref.head_seq + 1), 2))
    _put(ref, {low: high, high: low})
    return ref.pk, low


def _put(ref, moves):
    for was in moves:
        sql("UPDATE ledger_event SET seq = %s WHERE invocation_id = %s AND seq = %s", was + 1000000, ref.pk, was)
    for was, to in moves.items():
        sql("UPDATE ledger_event SET seq = %s WHERE invocation_id = %s AND seq = %s", to, ref.pk, was + 1000000)


def restore_an_old_head(pick):
    """The newest events and the head are taken back together: only the checkpoint knows."""
    ref = pick.invocation(last=True)
    seq = pick.random.randint(1, ref.head_seq - 1)
    head = Event.objects.get(invocation_id=ref.pk, seq=seq).hash
    sql("DELETE FROM ledger_event WHERE invocation_id = %s AND seq > %s", ref.pk, seq)
    sql("UPDATE ledger_invocation SET head_seq = %s, head_hash = %s, sealed_at = '' WHERE id = %s", seq, head, ref.pk)
    return ref.pk, seq + 1


def rewrite(pick):
    """The payload is changed and every hash after it made anew, the head too: found at the next checkpointed seq."""
    ref = pick.invocation(last=True)
    seq = pick.random.randint(1, ref.head_seq)
    before = None
    for row in Event.objects.filter(invocation_id=ref.pk, seq__gte=seq).order_by("seq"):
        payload = row.payload.replace('"ts":', '"ts":1') if row.seq == seq else row.payload
        before = before or row.prev_hash
        digest = chain(before, ref.pk, row.seq, row.event_id, row.source, row.committed_at, payload)
        sql(
            "UPDATE ledger_event SET payload = %s, prev_hash = %s, hash = %s WHERE id = %s",
            payload, before, digest, row.pk,
        )  # fmt: skip
        before = digest
    sql("UPDATE ledger_invocation SET head_hash = %s WHERE id = %s", before, ref.pk)
    return ref.pk, ref.head_seq


TAMPERINGS = [
    edit_payload, edit_column, delete("first"), delete("middle"), delete("last"), delete_invocation, insert, reorder,
    swap, restore_an_old_head, rewrite,
]  # fmt: skip


class Pick:
    """Chooses where; never twice the same family."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.refs = list(Invocation.objects.order_by("pk"))

    def invocation(self, *, last=False):
        """Any; `last`: one that nothing follows, so that the chain itself stays whole."""
        chosen = self.random.choice([ref for ref in self.refs if not (last and ref.successors)])
        self.refs = [ref for ref in self.refs if family(ref.pk) != family(chosen.pk)]
        return chosen

    def event(self):
        ref = self.invocation()
        return Event.objects.get(invocation_id=ref.pk, seq=self.random.randint(1, ref.head_seq))


def family(ref):
    return ref.partition("~")[0]


def test_200_of_200_and_no_false_alarm(ledger):
    assert verify().findings == []
    tamperings = [(n, TAMPERINGS[n % len(TAMPERINGS)]) for n in range(ROUNDS)]
    missed = []
    for start in range(0, ROUNDS, AT_ONCE):
        with transaction.atomic():
            without_triggers()
            pick = Pick(start)
            done = {tamper(pick): (n, tamper) for n, tamper in tamperings[start : start + AT_ONCE]}
            places = {(finding.invocation, finding.seq) for finding in verify().findings}
            missed += [(*what, place) for place, what in done.items() if place not in places]
            missed += [place for place in places if family(place[0]) not in {family(ref) for ref, _ in done}]
            transaction.set_rollback(True)
        assert len(done) == AT_ONCE
    assert missed == []
    assert verify().findings == []
