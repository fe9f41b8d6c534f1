"""Checkpoints by themselves: so many seconds after the last, or so many events, for as long as the process lives.

A process of its own, because the signing key is its alone; and because a sink that fails must stop nothing else.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from django.db import Error as DatabaseFault
from django.db import connections

from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, ForgeError
from forge_project.ledger import checkpoints
from forge_project.ledger.models import Event

_TICK_SECONDS = 1.0
_AGAIN_SECONDS = 15.0  # after a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """When the next one is due, whichever comes first."""

    seconds: float = 300.0
    events: int = 10_000


def keep(cadence: Cadence, stopped: threading.Event, say: Callable[[str], object]) -> None:
    """Takes checkpoints until `stopped`; says what was made, and a failure once until it is another or over."""
    due, seen, fault = 0.0, 0, ""
    while not stopped.is_set():
        try:
            newest = _newest_event()
            if clock.monotonic() >= due or newest - seen >= cadence.events:
                due, seen = clock.monotonic() + cadence.seconds, newest
                made = checkpoints.take()
                if made or fault:
                    say(f"checkpoint {', '.join(map(str, made))}" if made else "checkpoints are delivered again")
                fault = ""
        except Conflict:
            pass  # another process writes them too
        except (ForgeError, DatabaseFault) as error:
            due = clock.monotonic() + min(_AGAIN_SECONDS, cadence.seconds)
            told = error.message if isinstance(error, ForgeError) else f"the database: {type(error).__name__}"
            if told != fault:
                say(f"no checkpoint is delivered: {told}; it is tried again")
            fault = told
            connections.close_all()
        stopped.wait(_TICK_SECONDS)
    connections.close_all()


def _newest_event() -> int:
    """Ids have gaps, but no two events share one: never fewer than there are."""
    return Event.objects.order_by("-id").values_list("id", flat=True).first() or 0
