"""What approvals asks of the app above; executions' AppConfig sets all of it, nothing is imported from there."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from approvals.models import Approval
from approvals.policy import Question
from forge_project.ledger.writing import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Of one execution: its task as the agent names it, where it stands, its calls and how many of them are done."""

    task: str = ""
    status: str = ""
    calls: int = 0
    done: int = 0


TARGET = ("host", "method", "path", "paths", "argv", "branch")  # what conditions may see as `target`


@dataclass(frozen=True, slots=True)
class Known:
    """A capability, as rules may speak of it."""

    name: str
    effect: str
    fields: Sequence[str]  # of its input


Decided = Callable[[Page, Approval], None]
StillHolds = Callable[[Approval], bool | None]
CameOf = Callable[[Approval], str]
InputOf = Callable[[Approval], Any]
Surroundings = Callable[[Collection[str]], Mapping[str, Around]]
Capabilities = Callable[[], Sequence[Known]]
WorkspaceKnown = Callable[[str], bool]
Pose = Callable[[dict[str, Any]], Question]


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


def _none_known() -> Sequence[Known]:
    return ()


def _none_there(name: str) -> bool:
    return False


def _nothing_posed(example: dict[str, Any]) -> Question:
    raise LookupError("no machine is there to pose the question")


decided: Decided = _nobody_waits
"""Called inside the transaction that decided, revoked or expired an approval, under its invocation's lock."""

announced: Callable[[Page, Approval, str], None] = lambda page, approval, kind: None  # noqa: E731
"""Called inside the transaction that asks, and that reminds (`kind`: a NoticeKind): for webhooks, a link only."""

still_holds: StillHolds = _nobody_looks
"""Whether the world is still as it was when asked; None = can't tell. Reads files: never call it in a transaction."""

around: Surroundings = _nothing_known
"""By execution ref, what stands around the calls that were asked about."""

came_of: CameOf = _nothing_came
"""In one sentence, what became of the call that an approval was for; blank where nothing can be said."""

input_of: InputOf = _no_input
"""The whole input of the call, redacted, as JSON; None where it is not known."""

capabilities: Capabilities = _none_known
"""Every capability of this process."""

workspace_known: WorkspaceKnown = _none_there
"""Whether a workspace has this name."""

pose: Pose = _nothing_posed
"""An example {caller, workspace, capability, input} as the question policy would be asked. Raises Invalid."""
