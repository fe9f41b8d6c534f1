"""What approvals asks of the app above; executions' AppConfig sets all of it, nothing is imported from there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from approvals.conditions import Subject
from approvals.models import Approval
from approvals.policy import Question
from forge_project.ledger.writing import Page

TARGET = ("host", "method", "hosts", "path", "paths", "argv", "branch")  # what conditions may see as `target`


@dataclass(frozen=True, slots=True)
class Known:
    """A capability, as rules may speak of it."""

    name: str
    effect: str
    fields: Sequence[str]  # of its input


Decided = Callable[[Page, Approval], None]
StillHolds = Callable[[Approval], bool | None]
Capabilities = Callable[[], Sequence[Known]]
WorkspaceKnown = Callable[[str], bool]
SubjectOf = Callable[[Approval], Subject | None]
Pose = Callable[[dict[str, Any]], Question]


def _nobody_waits(page: Page, approval: Approval) -> None:
    """Nobody is told."""


def _nobody_looks(approval: Approval) -> bool | None:
    """Whether the precondition holds is not known."""
    return None


def _none_known() -> Sequence[Known]:
    return ()


def _none_there(name: str) -> bool:
    return False


def _nobody_knows(approval: Approval) -> Subject | None:
    return None


def _nothing_posed(example: dict[str, Any]) -> Question:
    raise LookupError("no machine is there to pose the question")


decided: Decided = _nobody_waits
"""Called inside the transaction that decided, revoked or expired an approval, under its invocation's lock."""

announced: Callable[[Page, Approval, str], None] = lambda page, approval, kind: None  # noqa: E731
"""Called inside the transaction that asks, and that reminds (`kind`: a NoticeKind): for webhooks, a link only."""

questioned: Callable[[Page, Approval, int], None] = lambda page, approval, n: None  # noqa: E731
"""Called inside the transaction in which a person asked the agent question `n` about its request."""

redacted: Callable[[Approval, str], str] = lambda approval, text: text  # noqa: E731
"""A question or an answer with its secrets masked, as the execution's other texts are."""

still_holds: StillHolds = _nobody_looks
"""Whether the world is still as it was when asked; None = can't tell. Reads files: never call it in a transaction."""

capabilities: Capabilities = _none_known
"""Every capability of this process."""

workspace_known: WorkspaceKnown = _none_there
"""Whether a workspace has this name."""

subject_of: SubjectOf = _nobody_knows
"""What conditions may look at of the call that an approval is about; None = it can't be looked at any more."""

pose: Pose = _nothing_posed
"""An example {caller, workspace, capability, input} as the question policy would be asked. Raises Invalid."""
