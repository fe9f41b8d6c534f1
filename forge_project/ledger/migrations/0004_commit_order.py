"""PostgreSQL: each event knows its transaction, so that pages can stop before what is not yet committed.

A serial id is not commit order: a lower id may appear after a higher one was read. SQLite has one writer at a time.
"""

from django.db import migrations


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE ledger_event ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id()")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE ledger_event DROP COLUMN xid")


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_complete")]
    operations = [migrations.RunPython(create, drop)]
