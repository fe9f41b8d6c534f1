"""What is learnt of an operation beside its road: its external handle, a late outcome, an operator's resolution."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from forge_project.kernel.errors import Invalid
from forge_project.ledger import statements
from forge_project.ledger.errors import OperationConflict
from forge_project.ledger.events import Event
from forge_project.ledger.models import OperationState
from forge_project.ledger.operations import Outcome, Tool, move_row, refs_of, row_of
from forge_project.ledger.writing import Page

HANDLE, LATE, RESOLVED = "call.handle", "call.late_outcome", "call.resolved"
_LONGEST_HANDLE = 200
_CROSSED = frozenset(
    (
        OperationState.PREPARED,
        OperationState.RETRIED,
        OperationState.RECOVERY_COMPLETED,
        OperationState.RECOVERY_NOT_APPLIED,
        OperationState.RECOVERY_PARKED,
        OperationState.RESOLVED,
    )
)


def handle(page: Page, tool: Tool, attempt: int, external: str) -> None:
    """By which name the running effect is found again (recovery mode reattach); one an attempt."""
    if not 0 < len(external) <= _LONGEST_HANDLE or "\0" in external:
        raise Invalid("an external handle has 1-200 characters", path="/external_handle", rule="ledger.handle")
    page.settle()
    if not statements.note_handle(tool.operation_id, attempt, external):
        raise OperationConflict("this attempt has not prepared it", scan="orphan_response")
    _add(page, tool, f"handle_{attempt}", {"fact": HANDLE, "attempt": attempt, "external_handle": external})


def late(page: Page, tool: Tool, attempt: int, ended: Outcome, artifacts: Sequence[str] = ()) -> None:
    """The true outcome, from an attempt that no longer holds the execution: evidence that changes no status.

    The only write a stale attempt may make. `artifacts` are digests of what it had stored.
    """
    row = row_of(page, tool)
    if row.state not in _CROSSED:
        raise OperationConflict("this operation has its outcome", scan="duplicate_response", state=row.state)
    if not 0 < attempt <= row.attempt:
        raise OperationConflict("that attempt dispatched nothing", scan="orphan_response")
    said: dict[str, Any] = {"fact": LATE, "attempt": attempt, "result": ended.result, "is_error": ended.is_error}
    said |= {"result_digest": ended.result_digest} if ended.result_digest else {}
    said |= {"artifacts": list(artifacts)} if artifacts else {}
    _add(page, tool, f"late_{attempt}", said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a person found out about a parked operation."""

    became: Literal["applied", "not_applied"]
    actor: str
    reason: str
    evidence: tuple[Any, ...] = ()
    outcome: Outcome | None = None  # what whoever asked for the operation is told


def resolve(page: Page, tool: Tool, found: Resolution) -> bool:
    """An operator's decision on a parked operation, once. False = this very resolution was there already."""
    if not found.actor or not found.reason:
        raise Invalid("a resolution names who and why", path="/reason", rule="ledger.resolution")
    row = row_of(page, tool)
    new = row.state != OperationState.RESOLVED
    if new:
        move_row(tool, row, OperationState.RESOLVED, only=OperationState.RECOVERY_PARKED)
    said: dict[str, Any] = {"fact": RESOLVED, "became": found.became, "actor": found.actor, "reason": found.reason}
    said |= {"evidence": list(found.evidence)} if found.evidence else {}
    if found.outcome is not None:
        ended = found.outcome
        said |= {"result": ended.result, "is_error": ended.is_error, "result_digest": ended.result_digest}
    _add(page, tool, "resolution", said)
    return new


def _add(page: Page, tool: Tool, suffix: str, said: dict[str, Any]) -> None:
    page.add(Event(event_id=f"{tool.operation_id}_{suffix}", actions={"forge": said}, refs=refs_of(tool)))
