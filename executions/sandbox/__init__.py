"""The sandbox: runs one script in a hardened process of its own. Knows no Django, no database, no capability."""

from executions.sandbox.engine import Engine
from executions.sandbox.guest import Guest
from executions.sandbox.limits import Limits
from executions.sandbox.outward import refuse_result
from executions.sandbox.replay import Divergence, RecordedTurn, Tape, check, ended_early
from executions.sandbox.shapes import (
    NO_VALUE,
    Answer,
    Asked,
    Complete,
    Delivered,
    Fatal,
    Lookup,
    Progress,
    Settled,
    Sleep,
    Start,
    StateWrite,
    Turn,
    Usage,
)
from executions.sandbox.zygote import Zygote
from executions.sandbox.zygotes import Zygotes

__all__ = [
    "NO_VALUE",
    "Answer",
    "Asked",
    "Complete",
    "Delivered",
    "Divergence",
    "Engine",
    "Fatal",
    "Guest",
    "Limits",
    "Lookup",
    "Progress",
    "RecordedTurn",
    "Settled",
    "Sleep",
    "Start",
    "StateWrite",
    "Tape",
    "Turn",
    "Usage",
    "Zygote",
    "Zygotes",
    "check",
    "ended_early",
    "refuse_result",
]
