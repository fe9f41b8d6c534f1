import pytest
from django.db import DatabaseError, connection, transaction

from forge_project.kernel.errors import Invalid, Missing
from forge_project.ledger.errors import EventConflict, IdentityConflict, InvocationSealed
from forge_project.ledger.events import Event, fact
from forge_project.ledger.models import Event as Row
from forge_project.ledger.models import Invocation
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing
from tests.db.ledger import identity

pytestmark = pytest.mark.django_db


def write(name, *events, opening=True):
    with writing(name, opening=identity(name) if opening else None) as page:
        for event in events:
            page.add(event)


def test_events_are_numbered_and_chained_from_the_identity():
    write("a", fact("one"), fact("two"))
    write("a", fact("three"))
    rows = list(Row.objects.order_by("seq"))
    assert [(row.seq, row.kind) for row in rows] == [(1, "one"), (2, "two"), (3, "three")]
    assert rows[0].prev_hash == identity("a").genesis()
    assert [row.prev_hash for row in rows[1:]] == [row.hash for row in rows[:-1]]
    head = Invocation.objects.get(pk="a")
    assert (head.head_seq, head.head_hash) == (3, rows[-1].hash)
    assert verify().findings == []


def test_an_exact_repeat_writes_nothing_and_other_content_is_refused():
    again = fact("one", event_id="e1", colour="red")
    write("a", again)
    write("a", again)
    assert Row.objects.count() == 1
    with pytest.raises(EventConflict):
        write("a", fact("one", event_id="e1", colour="blue"))


def test_an_event_id_is_the_owners_and_not_another_invocations():
    write("a", fact("one", event_id="e1"))
    with pytest.raises(EventConflict):
        write("b", fact("one", event_id="e1"))
    with writing("c", opening=identity("c", owner="user:bob")) as page:
        page.add(fact("one", event_id="e1"))


def test_a_terminal_event_seals():
    end = fact("execution.finished", status="completed", event_id="end")
    write("a", fact("one"), end)
    write("a", end)  # the identical terminal event again is fine
    for late in (fact("late"), fact("end", status="failed")):
        with pytest.raises(InvocationSealed):
            write("a", late)
    with pytest.raises(InvocationSealed):
        write("b", end_of("b"), fact("after"))
    assert Row.objects.count() == 2
    assert verify().findings == []


def end_of(name):
    return fact("execution.finished", status="failed", event_id=f"{name}-end")


def test_an_invocation_keeps_its_identity():
    write("a", fact("one"))
    with pytest.raises(IdentityConflict), writing("a", opening=identity("a", owner="user:bob")):
        pass
    with pytest.raises(Missing):
        write("nowhere", fact("one"), opening=False)
    with pytest.raises(Invalid):
        write("not an id", fact("one"))


def test_nothing_is_written_when_the_transaction_fails():
    with pytest.raises(RuntimeError), writing("a", opening=identity("a")) as page:
        page.add(fact("one"))
        raise RuntimeError
    assert not Invocation.objects.exists()


@pytest.mark.parametrize("statement", ["UPDATE ledger_event SET kind = 'x'", "DELETE FROM ledger_event"])
def test_the_database_refuses_to_change_events(statement):
    write("a", fact("one"))
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert Row.objects.get().kind == "one"


def test_text_of_every_kind_is_stored_losslessly():
    content = {"kind": "text", "text": '\u0000 é 😀 \u2028 \\ "'}
    delta = {"n": [1.5, -0.25, 1e21, 2**53 - 1, None, True]}
    write("a", Event(role="user", author="agent", content=content, actions={"state_delta": delta}))
    assert verify().findings == []
    with pytest.raises(Invalid, match="surrogate"):
        write("a", fact("one", name="\ud800"))
