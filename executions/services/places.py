"""Room for one more execution of a caller; who is over a cap is told so, counted and logged, and nothing is stored."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.auth.models import User

from executions.bounds import CallerLoad, CallerRefused
from forge_project.kernel import hot
from forge_project.kernel.errors import TooMany

log = logging.getLogger("forge.queue")
RETRY_SECONDS = 5
CAPS = ("queue.full", "bytes.day", "bytes.all")  # the rules that `counted` sees


def take_place(caller: User) -> None:
    """The queue cap, by conditional UPDATE: a race can't pass it. Raises TooMany. `move` does the counting."""
    limit = settings.FORGE_CALLER_QUEUED
    if not _free(caller, limit):
        hot.insert(CallerLoad(caller=caller), ignore=True)  # its first request, maybe
        if not _free(caller, limit):
            raise TooMany("this caller's queue is full", rule="queue.full", limit=limit, retry_after=RETRY_SECONDS)


def _free(caller: User, limit: int) -> bool:
    """Locks the row, if the queue has room."""
    free = {"caller_id": caller.pk, "queued": hot.AtMost(limit - 1)}
    return hot.update(CallerLoad, free, {"queued": hot.Plus(0)}) == 1


@contextmanager
def counted(caller: User) -> Iterator[None]:
    """Counts and logs the TooMany that passes through it, once its transaction is rolled back."""
    try:
        yield
    except TooMany as full:
        mine = {"caller_id": caller.pk, "rule": full.facts["rule"]}
        hot.insert(CallerRefused(**mine), ignore=True)
        hot.update(CallerRefused, mine, {"times": hot.Plus(1)})
        log.warning("queue_rejected: %s: %s", caller.get_username(), full.facts["rule"])
        raise
