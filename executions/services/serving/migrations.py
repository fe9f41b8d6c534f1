"""How far the database's schema is behind, or ahead of, this code."""

from dataclasses import dataclass

import psycopg
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """`missing` are not applied yet; `foreign` were applied by code newer than this."""

    missing: list[str]
    foreign: list[str]


def reach() -> None:
    """One connection beside the pool, which would try for long and not say why it fails; raises DatabaseError."""
    if connection.vendor != "postgresql":
        connection.ensure_connection()
        return
    with connection.wrap_database_errors:
        psycopg.connect(**connection.get_connection_params()).close()


def schema() -> Schema:
    """Reads the database's migration table; raises DatabaseError when it can't be reached."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    known = executor.loader.disk_migrations
    applied = MigrationRecorder(connection).applied_migrations()
    ours = {app for app, _ in known}
    return Schema(
        missing=[f"{one.app_label}.{one.name}" for one, _ in plan],
        foreign=sorted(f"{app}.{name}" for app, name in applied if app in ours and (app, name) not in known),
    )


def migrate() -> int:
    """Applies what is missing; how many there were. No connection stays open: processes are started after it."""
    try:
        missing = schema().missing
        if missing:
            call_command("migrate", verbosity=0, interactive=False)
        return len(missing)
    finally:
        _close()


def _close() -> None:
    connections.close_all()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]  # PostgreSQL's alone
