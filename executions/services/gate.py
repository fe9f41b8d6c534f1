"""Where a hold and a dispatch meet: whoever comes second sees the first.

On PostgreSQL a dispatch holds the gate open until it commits, and a hold waits for all that do; on SQLite one
transaction writes at a time anyway.
"""

from django.db import connection

from forge_project.kernel import plain

_KEY = 0x464F5247  # "FORG": of all advisory locks on this database, ours


def shut() -> None:
    """Waits for every dispatch under way, in the caller's transaction; those that come later see what it writes."""
    _lock("pg_advisory_xact_lock")


def enter() -> None:
    """A dispatch begins: until its transaction ends no hold can be placed."""
    _lock("pg_advisory_xact_lock_shared")


def _lock(function: str) -> None:
    if connection.vendor == "postgresql":
        plain.one(f"SELECT {function}(%s)", [_KEY])
