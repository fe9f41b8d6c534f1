"""Calls of `sleep`: requested, and begun only when their time has come. Until then a row is all there is of them."""

import math
from datetime import datetime, timedelta

from executions.models import Call, Execution
from executions.sandbox.replay import SLEEP
from executions.services import sealed
from executions.states import CallStatus
from forge_project.kernel import clock

_AFTERWARDS = timedelta(days=1)  # what is left to the execution once it has slept


def sleeps(call: Call) -> bool:
    """Whether this call is a sleep that has not ended."""
    return call.tool == SLEEP and call.status == CallStatus.REQUESTED


def due_at(call: Call) -> datetime:
    """When a sleep ends; counted from when it was asked for, whatever attempts come and go."""
    return call.requested_at + timedelta(milliseconds=sealed.unseal(call.sealed_input)["ms"])


def next_due(execution: Execution) -> datetime | None:
    """When the first of its sleeps ends."""
    calls = Call.objects.filter(execution=execution, tool=SLEEP, status=CallStatus.REQUESTED)
    return min((due_at(call) for call in calls), default=None)


def stay(execution: Execution, call: Call) -> None:
    """A sleeping execution does not expire in its sleep."""
    until = due_at(call) + _AFTERWARDS
    Execution.objects.filter(pk=execution.pk, expires_at__lt=until).update(expires_at=until)


class Sleepers:
    """The sleeps of one attempt, in memory; what wakes them is the clock."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[Call, datetime]] = {}

    def __bool__(self) -> bool:
        return bool(self._due)

    def add(self, call: Call) -> None:
        """Lets it sleep on."""
        self._due[call.n] = (call, due_at(call))

    def woken(self) -> list[Call]:
        """Those whose time has come, which sleep no more."""
        now = clock.now()
        return [self._due.pop(n)[0] for n in [n for n, (_, due) in self._due.items() if due <= now]]

    def seconds(self) -> float:
        """Until the next one wakes; infinite without one."""
        now = clock.now()
        return max(0.0, min(((due - now).total_seconds() for _, due in self._due.values()), default=math.inf))
