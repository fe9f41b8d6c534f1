"""The bytes an execution keeps, its own limit, and what its caller stores by the day and in all."""

from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F, Q, Sum

from executions.bounds import CallerDay
from executions.models import Execution
from forge_project.kernel import canonical, clock
from forge_project.kernel.errors import TooLarge, TooMany

_ADD = """INSERT INTO executions_callerday (caller_id, day, bytes)
    SELECT caller_id, %s, bytes - bytes_told FROM executions_execution WHERE ref = %s AND bytes <> bytes_told
    ON CONFLICT (caller_id, day) DO UPDATE SET bytes = executions_callerday.bytes + EXCLUDED.bytes"""


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
    Execution.objects.filter(pk=execution.pk).update(bytes=F("bytes") + added)


def account(execution: Execution) -> None:
    """Puts what is new on the caller's day; the last write of a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [clock.now().date(), execution.pk])
        if cursor.rowcount:
            cursor.execute("UPDATE executions_execution SET bytes_told = bytes WHERE ref = %s", [execution.pk])


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
    rows = CallerDay.objects.filter(caller=caller, day__gte=since)
    found = rows.aggregate(ever=Sum("bytes"), today=Sum("bytes", filter=Q(day=today)))
    return found["today"] or 0, found["ever"] or 0
