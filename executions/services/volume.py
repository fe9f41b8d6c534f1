"""The bytes an execution keeps, its own limit, and what its caller stores by the day and in all."""

from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from executions.models import Execution
from forge_project.kernel import canonical, clock, hot, plain
from forge_project.kernel.errors import TooLarge, TooMany

_DUE = "SELECT ref, caller_id, bytes - bytes_told AS added FROM executions_execution WHERE ref = %s"
_ADD = """INSERT INTO executions_callerday (caller_id, day, bytes)
    SELECT caller_id, {day}, added FROM {due} WHERE added <> 0
    ON CONFLICT (caller_id, day) DO UPDATE SET bytes = executions_callerday.bytes + EXCLUDED.bytes"""
_TELL = "UPDATE executions_execution SET bytes_told = bytes WHERE ref = %s"
_BOTH = f"WITH due AS ({_DUE}), told AS ({_TELL}) " + _ADD.format(day="%s::date", due="due")
_FIRST = _ADD.format(day="%s", due=f"({_DUE}) due")

# Asked for at every submission.
_STORED = """SELECT COALESCE(SUM(CASE WHEN day = %s THEN bytes END), 0), COALESCE(SUM(bytes), 0)
    FROM executions_callerday WHERE caller_id = %s AND day >= %s"""


def size(value: Any) -> int:
    """The bytes of a JSON value as it is kept."""
    return len(canonical.canonical(value))


def within(execution: Execution, added: int) -> int:
    """What `execution` keeps with `added` bytes more; TooLarge over its limit."""
    total = execution.bytes + added
    if total > settings.FORGE_EXECUTION_BYTES:
        raise TooLarge("its input, results and output are too large together", limit=settings.FORGE_EXECUTION_BYTES)
    return total


def add(execution: Execution, added: int) -> None:
    """Counts what has to be kept whatever the limit says: an outcome that happened. The next turn meets the limit."""
    hot.update(Execution, {"ref": execution.pk}, {"bytes": hot.Plus(added)})


def account(execution: Execution) -> None:
    """Puts what is new on the caller's day; the last write of a transaction."""
    ref, day = execution.pk, clock.now().date()
    if connection.vendor == "postgresql":
        plain.run(_BOTH, [ref, ref, day])
    else:
        plain.run(_FIRST, [day, ref])
        plain.run(_TELL, [ref])


def refuse_over(caller: User) -> None:
    """TooMany for a caller who has stored as much as one may, today or as long as things are kept."""
    now = clock.now()
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = int((midnight - now).total_seconds()) + 1
    kept = settings.FORGE_RETENTION_DAYS
    today, ever = _stored(caller, now.date(), now.date() - timedelta(days=kept) if kept else date.min)
    if today >= settings.FORGE_CALLER_DAY_BYTES:
        limit = settings.FORGE_CALLER_DAY_BYTES
        raise TooMany("this caller has stored enough today", rule="bytes.day", limit=limit, retry_after=tomorrow)
    if ever >= settings.FORGE_CALLER_BYTES:
        limit = settings.FORGE_CALLER_BYTES
        raise TooMany("this caller stores as much as it may", rule="bytes.all", limit=limit, retry_after=tomorrow)


def _stored(caller: User, today: date, since: date) -> tuple[int, int]:
    found = plain.one(_STORED, [today, caller.pk, since]) or (0, 0)
    return int(found[0]), int(found[1])
