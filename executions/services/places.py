"""Room for one more execution of a caller in the queue."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F

from executions.models import CallerLoad
from forge_project.kernel.errors import TooMany

RETRY_SECONDS = 5


def take_place(caller: User) -> None:
    """The queue cap, by conditional UPDATE: a race can't pass it. Raises TooMany. `move` does the counting."""
    CallerLoad.objects.bulk_create([CallerLoad(caller=caller)], ignore_conflicts=True)
    free = CallerLoad.objects.filter(pk=caller.pk, queued__lt=settings.FORGE_CALLER_QUEUED)
    if free.update(queued=F("queued")) != 1:
        limit = settings.FORGE_CALLER_QUEUED
        raise TooMany("this caller's queue is full", limit=limit, retry_after=RETRY_SECONDS)
