"""Who deletes an execution's whole chain in the database, before a checkpoint, is told on by the rows that name it."""

import json
import sqlite3

import psycopg
import pytest

TABLES = ["ledger_event", "ledger_operation", "ledger_invocation"]
WRITE = {"capability": "file.write", "input": {"path": "a", "content": "new"}, "workspace": "ws"}


def attack(site, *statements):
    """As somebody at the database: no trigger and no foreign key holds."""
    if site.database_url.startswith("sqlite"):
        with sqlite3.connect(site.database_url.removeprefix("sqlite:///")) as base:
            base.execute("DROP TRIGGER ledger_event_no_delete")
            for statement in statements:
                base.execute(statement)
        base.close()
        return
    with psycopg.connect(site.database_url.replace("postgres://", "postgresql://")) as base:
        base.execute("SET session_replication_role = replica")
        for statement in statements:
            base.execute(statement)


def gone(table, ref):
    column = "id" if table == "ledger_invocation" else "invocation_id"
    return f"DELETE FROM {table} WHERE {column} = '{ref}'"


def findings(site):
    done = site.manage("ledger_verify", "--json", check=False)
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == (1 if found else 0), done.stderr
    return [(one["invocation"], one["seq"], one["problem"], one["detail"]) for one in found]


@pytest.fixture
def ran(hand, workers):
    """One that is done, one that waits for a person, one that nobody touches."""
    done = hand.do("submit", key="1", body={"capability": "file.list", "input": {}, "workspace": "ws"})["ref"]
    waits = hand.do("submit", key="2", body=WRITE)["ref"]
    other = hand.do("submit", key="3", body={"source": "return 1"})["ref"]
    worker = workers()
    hand.until(done, "succeeded")
    hand.until(waits, "waiting_approval")
    hand.until(other, "succeeded")
    worker.terminate()
    assert worker.wait(30) == 0
    return done, waits, other


def test_a_deleted_chain_is_named_by_its_execution(site, ran):
    assert findings(site) == []
    done, _, _ = ran
    attack(site, *(gone(table, done) for table in TABLES))
    assert findings(site) == [(done, 0, "invocation_missing", "named by an execution")]


def test_who_deletes_the_execution_too_is_told_on_by_its_approval(site, ran):
    _, waits, _ = ran
    calls = f"DELETE FROM executions_call WHERE execution_id = '{waits}'"
    rows = [calls, f"DELETE FROM executions_execution WHERE ref = '{waits}'"]
    attack(site, *(gone(table, waits) for table in TABLES), *rows)
    assert findings(site) == [(waits, 0, "invocation_missing", "named by an approval")]


def test_who_leaves_the_operation_is_told_on_by_it(site, ran):
    done, _, _ = ran
    attack(site, gone("ledger_event", done), gone("ledger_invocation", done))
    assert findings(site)[0][:3] == (done, 0, "invocation_missing")
