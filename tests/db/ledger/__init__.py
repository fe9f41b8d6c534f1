"""The ledger on a real database."""

from django.db import connection

from forge_project.ledger.events import Identity


def identity(name: str, owner: str = "user:ada") -> Identity:
    return Identity(invocation_id=name, session_id="s", run_id="r", turn_id="t", owner=owner)


def without_triggers():
    """For the rest of the transaction, what the triggers forbid is possible: as an attacker at the database has it."""
    statements = (
        ["DROP TRIGGER ledger_event_no_update", "DROP TRIGGER ledger_event_no_delete", "PRAGMA defer_foreign_keys = ON"]
        if connection.vendor == "sqlite"
        else ["SET LOCAL session_replication_role = replica"]
    )
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
