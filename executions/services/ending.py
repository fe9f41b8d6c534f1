"""How an attempt can end, beside what the guest itself says."""

from dataclasses import dataclass

from executions.sandbox.shapes import Complete, Fatal


@dataclass(frozen=True, slots=True)
class Parked:
    """Everything that is left waits for a person."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The attempt has to end here: a call stopped it, its effect is unknown, or this worker drains."""


Ending = Complete | Fatal | Parked | Stopped
