"""What has ended is never moved again, what was asked is never reworded, and a rule's version is never edited."""

from django.db import migrations

ENDED = "'denied', 'revoked', 'expired', 'consumed'"
ASKED = (
    "ref invocation_id execution_ref call_id n caller_id caller_ref on_behalf_of_id workspace capability target risk "
    "effect network rule rule_version input_fingerprint scope_fingerprint precondition_fingerprint fingerprint "
    "sentence preview warnings reversible purpose requested_at supersedes"
).split()
RULE = "name version priority caller capability decision reason author_id created_at".split()


def differs(columns, vendor):
    word = "IS NOT" if vendor == "sqlite" else "IS DISTINCT FROM"
    return " OR ".join(f"NEW.{column} {word} OLD.{column}" for column in columns)


def guards(vendor):
    """(table, condition under which an UPDATE is refused, what is said)."""
    return [
        ("approvals_approval", f"OLD.state IN ({ENDED})", "this approval has ended"),
        ("approvals_approval", differs(ASKED, vendor), "what was asked is not reworded"),
        ("approvals_policyrule", f"OLD.retired_at IS NOT NULL OR {differs(RULE, vendor)}", "rules are versioned"),
    ]


def create(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    if vendor != "sqlite":
        schema_editor.execute(
            "CREATE FUNCTION approvals_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation'; END $$",
            None,
        )
    for n, (table, condition, said) in enumerate(guards(vendor)):
        head = f"CREATE TRIGGER approvals_guard_{n} BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({condition})"
        if vendor == "sqlite":
            schema_editor.execute(f"{head} BEGIN SELECT RAISE(ABORT, '{said}'); END", None)
        else:
            schema_editor.execute(f"{head} EXECUTE FUNCTION approvals_refuse('{said}')", None)


def drop(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for n, (table, _, _) in enumerate(guards(vendor)):
        on = "" if vendor == "sqlite" else f" ON {table}"
        schema_editor.execute(f"DROP TRIGGER approvals_guard_{n}{on}", None)
    if vendor != "sqlite":
        schema_editor.execute("DROP FUNCTION approvals_refuse()", None)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_groups")]
    operations = [migrations.RunPython(create, drop)]
