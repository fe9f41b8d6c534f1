"""An observer says that a signal has reached it."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from executions.outbox.models import Signal
from executions.selectors import signals
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """Who has been told what."""

    signal_ref: str
    actor: User


def acknowledge(asked: Acknowledge) -> bool:
    """True the first time only, however many ask at once. Raises Missing where it is not there or not theirs."""
    if not signals.visible_to(asked.actor).filter(pk=asked.signal_ref).exists():
        raise Missing("no such signal", signal=asked.signal_ref)
    rows = Signal.objects.filter(pk=asked.signal_ref, acknowledged_at=None)
    who = actors.of(asked.actor)
    return rows.update(acknowledged_at=clock.now(), acknowledged_by=who) == 1
