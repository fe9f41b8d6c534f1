"""A record that is written stays as it is."""

from django.db import migrations

SQLITE = [
    "CREATE TRIGGER artifacts_no_update BEFORE UPDATE ON artifacts_artifact "
    "BEGIN SELECT RAISE(ABORT, 'artifacts are immutable'); END",
]
POSTGRESQL = [
    "CREATE FUNCTION artifacts_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION 'artifacts are immutable' USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE TRIGGER artifacts_no_update BEFORE UPDATE ON artifacts_artifact "
    "FOR EACH ROW EXECUTE FUNCTION artifacts_refuse()",
]


def create(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER artifacts_no_update")
    else:
        schema_editor.execute("DROP TRIGGER artifacts_no_update ON artifacts_artifact")
        schema_editor.execute("DROP FUNCTION artifacts_refuse()")


class Migration(migrations.Migration):
    dependencies = [("artifacts", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
