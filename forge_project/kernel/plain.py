"""SQL text as the busiest transactions use it. PostgreSQL prepares it once a connection: planning it anew each time
cost more than running it (measured on a busy machine: 14 ms of the server's time an execution, 9 prepared)."""

from collections.abc import Sequence
from typing import Any

from django.db import InterfaceError, OperationalError, connection

OUTAGE = (OperationalError, InterfaceError)  # of the database: the moment's trouble, no row's
MOST_PREPARED = 400  # on one connection; the driver forgets the least used beyond
_NEVER = 2**31 - 1  # executions until the driver prepares a statement of its own accord


def run(text: str, given: Sequence[Any]) -> int:
    """Runs a statement; how many rows it touched."""
    with _executed(text, given) as cursor:
        return int(cursor.rowcount)


def rows(text: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Every row."""
    with _executed(text, given) as cursor:
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def one(text: str, given: Sequence[Any]) -> tuple[Any, ...] | None:
    """The first row, or None."""
    with _executed(text, given) as cursor:
        found: tuple[Any, ...] | None = cursor.fetchone()
        return found


def _executed(text: str, given: Sequence[Any]) -> Any:
    """A cursor to be closed. Where somebody listens to this connection's statements, Django's own runs them."""
    if connection.vendor != "postgresql" or connection.queries_logged or connection.execute_wrappers:
        cursor = connection.cursor()
        cursor.execute(text, given)
        return cursor
    return _prepared(text, given)


def _prepared(text: str, given: Sequence[Any]) -> Any:
    from psycopg import Cursor  # is there where PostgreSQL is used
    from psycopg.errors import FeatureNotSupported

    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        driver = connection.connection
        if driver.prepare_threshold is None:  # Django prepares nothing; from here on, what asks for it
            driver.prepare_threshold, driver.prepared_max = _NEVER, MOST_PREPARED
        try:
            return Cursor(driver).execute(text, given, prepare=True)
        except FeatureNotSupported:  # a migration changed what it gives: this connection would never do again
            driver.close()
            raise
