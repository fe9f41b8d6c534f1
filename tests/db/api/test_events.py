"""GET executions/<ref>/events/"""

from contextlib import contextmanager

import pytest
from django.db import connection

from forge_project.ledger.models import Event
from tests.db.api import get, refused

pytestmark = pytest.mark.django_db(transaction=True)


def events(api, ref, **query):
    return get(api, f"/executions/{ref}/events/", **query).json()["results"]


@contextmanager
def tampered(invocation, seq, **columns):
    """Columns of one event changed behind the triggers' back, and put right again at the end."""
    row = Event.objects.get(invocation_id=invocation, seq=seq)
    _write(row.pk, columns)
    yield
    _write(row.pk, {name: getattr(row, name) for name in columns})


def _write(pk, columns):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ALTER TABLE ledger_event DISABLE TRIGGER USER")
            Event.objects.filter(pk=pk).update(**columns)
            cursor.execute("ALTER TABLE ledger_event ENABLE TRIGGER USER")
            return
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'ledger_event'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        Event.objects.filter(pk=pk).update(**columns)
        for _, sql in triggers:
            cursor.execute(sql)


def test_the_chain_is_shown_and_verified(api, done):
    told = events(api, done)
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert all(event["verified"] for event in told)
    assert [event["prev_hash"] for event in told[1:]] == [event["hash"] for event in told[:-1]]
    assert {event["source"] for event in told} == {"forge"}
    assert told[0]["payload"]["actions"]["forge"]["fact"] == "execution.submitted"
    assert told[-1]["kind"] == "completed"


def test_each_page_is_verified_on_its_own(api, done):
    first = get(api, f"/executions/{done}/events/", limit=3).json()
    second = api.get(first["next"]).json()["results"]
    assert [event["seq"] for event in second] == [4, 5, 6]
    assert all(event["verified"] for event in second)


def test_a_live_one_is_verified_too(api, asked):
    assert all(event["verified"] for event in events(api, asked.execution_ref))


@pytest.mark.parametrize(
    ("column", "value", "wrong"),
    [
        ("payload", '{"changed": true}', {3}),
        ("payload", "not JSON", {3}),
        ("payload", "[]", {3}),
        ("kind", "completed", {3}),
        ("hash", "0" * 64, {3, 4}),
        ("committed_at", "2000-01-01T00:00:00.000000Z", {3}),
        ("source", "agent", {3}),
    ],
)
def test_what_was_changed_is_not_verified(api, done, column, value, wrong):
    with tampered(done, 3, **{column: value}):
        assert {event["seq"] for event in events(api, done) if not event["verified"]} == wrong


@pytest.mark.parametrize("query", ["cursor=x", "q=%00", "limit=201"])
def test_a_bad_query_is_400(api, done, query):
    refused(api.get(f"/api/v1/executions/{done}/events/?{query}"), 400, "INVALID_REQUEST")
