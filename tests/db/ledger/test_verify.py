"""Whoever changes the stored ledger behind Forge's back is found, and where."""

import pytest
from django.db import connection

from forge_project.ledger.events import fact
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing
from tests.db.ledger import identity, without_triggers

pytestmark = pytest.mark.django_db


@pytest.fixture
def chains():
    for name in ("a", "b", "c"):
        with writing(name, opening=identity(name)) as page:
            for n in range(5):
                page.add(fact("step", n=n))
    without_triggers()


def sql(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def found():
    return {(finding.invocation, finding.seq, finding.problem) for finding in verify().findings}


B3 = "WHERE invocation_id = 'b' AND seq = 3"
TAMPERINGS = [
    (f"UPDATE ledger_event SET payload = replace(payload, '\"n\":2', '\"n\":9') {B3}", ("b", 3, "edited")),
    (f"UPDATE ledger_event SET committed_at = '2020-01-01T00:00:00.000000Z' {B3}", ("b", 3, "edited")),
    (f"UPDATE ledger_event SET kind = 'other' {B3}", ("b", 3, "columns_differ")),
    (f"UPDATE ledger_event SET source = 'agent' {B3}", ("b", 3, "edited")),
    (f"UPDATE ledger_event SET operation_id = 'toolop_x' {B3}", ("b", 3, "columns_differ")),
    (f"UPDATE ledger_event SET event_id = 'other' {B3}", ("b", 3, "edited")),
    (f"UPDATE ledger_event SET owner = 'user:eve' {B3}", ("b", 3, "columns_differ")),
    (f"DELETE FROM ledger_event {B3}", ("b", 3, "missing")),
    ("DELETE FROM ledger_event WHERE invocation_id = 'b' AND seq = 1", ("b", 1, "missing")),
    ("DELETE FROM ledger_event WHERE invocation_id = 'b' AND seq = 5", ("b", 5, "missing")),
    ("DELETE FROM ledger_event WHERE invocation_id = 'b'", ("b", 1, "missing")),
    (f"UPDATE ledger_event SET seq = 77 {B3}", ("b", 3, "missing")),
    ("UPDATE ledger_invocation SET head_seq = 4 WHERE id = 'b'", ("b", 5, "beyond_head")),
    ("UPDATE ledger_invocation SET head_hash = 'x' WHERE id = 'b'", ("b", 5, "head_differs")),
    ("UPDATE ledger_invocation SET owner = 'user:eve' WHERE id = 'b'", ("b", 1, "broken_link")),
    ("UPDATE ledger_invocation SET sealed_at = 'x' WHERE id = 'b'", ("b", 0, "seal_differs")),
]


@pytest.mark.parametrize(("statement", "place"), TAMPERINGS)
def test_a_changed_row_is_found_at_its_place(chains, statement, place):
    assert found() == set()
    sql(statement)
    assert place in found()
    assert {ref for ref, _, _ in found()} == {"b"}  # no false alarm elsewhere


def test_two_swapped_rows_are_found_at_both_places(chains):
    for seq, to in ((2, 100), (4, 2), (100, 4)):
        sql(f"UPDATE ledger_event SET seq = {to} WHERE invocation_id = 'b' AND seq = {seq}")
    assert {("b", 2, "edited"), ("b", 4, "edited")} <= found()


def test_a_rehashed_row_breaks_the_link_after_it(chains):
    sql(f"UPDATE ledger_event SET hash = 'f00' {B3}")
    assert {("b", 3, "edited"), ("b", 4, "broken_link")} <= found()


def test_an_old_row_in_another_chain_is_found(chains):
    sql("UPDATE ledger_event SET invocation_id = 'c', seq = 6 WHERE invocation_id = 'b' AND seq = 5")
    assert {("b", 5, "missing"), ("c", 6, "edited")} <= found()
