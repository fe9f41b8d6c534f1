"""What approvals asks of the app above; executions' AppConfig sets both, nothing is imported from there."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from approvals.models import Approval
from forge_project.ledger.writing import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Of one execution: its task as the agent names it, where it stands, its calls and how many of them are done."""

    task: str = ""
    status: str = ""
    calls: int = 0
    done: int = 0


Decided = Callable[[Page, Approval], None]
StillHolds = Callable[[Approval], bool | None]
CameOf = Callable[[Approval], str]
InputOf = Callable[[Approval], Any]
Surroundings = Callable[[Collection[str]], Mapping[str, Around]]


def _nobody_waits(page: Page, approval: Approval) -> None:
    """Nobody is told."""


def _nobody_looks(approval: Approval) -> bool | None:
    """Whether the precondition holds is not known."""
    return None


def _nothing_known(refs: Collection[str]) -> Mapping[str, Around]:
    """Of no execution anything is known."""
    return {}


def _nothing_came(approval: Approval) -> str:
    """Nobody says."""
    return ""


def _no_input(approval: Approval) -> Any:
    """Nobody knows it."""
    return None


decided: Decided = _nobody_waits
"""Called inside the transaction that decided, revoked or expired an approval, under its invocation's lock."""

still_holds: StillHolds = _nobody_looks
"""Whether the world is still as it was when asked; None = can't tell. Reads files: never call it in a transaction."""

around: Surroundings = _nothing_known
"""By execution ref, what stands around the calls that were asked about."""

came_of: CameOf = _nothing_came
"""In one sentence, what became of the call that an approval was for; blank where nothing can be said."""

input_of: InputOf = _no_input
"""The whole input of the call, redacted, as JSON; None where it is not known."""
