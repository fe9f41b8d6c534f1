"""Room for one more execution of a caller; who is over a cap is told so, counted and logged, and nothing is stored."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F

from executions.bounds import CallerLoad, CallerRefused
from forge_project.kernel.errors import TooMany

log = logging.getLogger("forge.queue")
RETRY_SECONDS = 5
CAPS = ("queue.full", "bytes.day", "bytes.all")  # the rules that `counted` sees


def take_place(caller: User) -> None:
    """The queue cap, by conditional UPDATE: a race can't pass it. Raises TooMany. `move` does the counting."""
    CallerLoad.objects.bulk_create([CallerLoad(caller=caller)], ignore_conflicts=True)
    free = CallerLoad.objects.filter(pk=caller.pk, queued__lt=settings.FORGE_CALLER_QUEUED)
    if free.update(queued=F("queued")) != 1:
        limit = settings.FORGE_CALLER_QUEUED
        raise TooMany("this caller's queue is full", rule="queue.full", limit=limit, retry_after=RETRY_SECONDS)


@contextmanager
def counted(caller: User) -> Iterator[None]:
    """Counts and logs the TooMany that passes through it, once its transaction is rolled back."""
    try:
        yield
    except TooMany as full:
        mine = {"caller": caller, "rule": full.facts["rule"]}
        CallerRefused.objects.bulk_create([CallerRefused(**mine)], ignore_conflicts=True)
        CallerRefused.objects.filter(**mine).update(times=F("times") + 1)
        log.warning("queue_rejected: %s: %s", caller.get_username(), full.facts["rule"])
        raise
