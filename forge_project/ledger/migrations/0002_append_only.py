"""Events are never updated, and deleted only where a tombstone for their invocation stands."""

from django.db import migrations

SQLITE = [
    "CREATE TRIGGER ledger_event_no_update BEFORE UPDATE ON ledger_event "
    "BEGIN SELECT RAISE(ABORT, 'ledger events are append-only'); END",
    "CREATE TRIGGER ledger_event_no_delete BEFORE DELETE ON ledger_event "
    "WHEN NOT EXISTS (SELECT 1 FROM ledger_tombstone t WHERE t.invocation_id = OLD.invocation_id) "
    "BEGIN SELECT RAISE(ABORT, 'ledger events are append-only'); END",
]
POSTGRESQL = [
    """CREATE FUNCTION ledger_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'DELETE' AND EXISTS
        (SELECT 1 FROM ledger_tombstone t WHERE t.invocation_id = OLD.invocation_id) THEN RETURN OLD; END IF;
    RAISE EXCEPTION 'ledger events are append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
    "CREATE TRIGGER ledger_event_append_only BEFORE UPDATE OR DELETE ON ledger_event "
    "FOR EACH ROW EXECUTE FUNCTION ledger_event_refuse()",
]


def create(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER ledger_event_no_update")
        schema_editor.execute("DROP TRIGGER ledger_event_no_delete")
    else:
        schema_editor.execute("DROP TRIGGER ledger_event_append_only ON ledger_event")
        schema_editor.execute("DROP FUNCTION ledger_event_refuse()")


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
