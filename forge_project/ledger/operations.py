"""The tool boundary's writers: each step is idempotent when repeated exactly, a conflict otherwise."""

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from forge_project.kernel.canonical import canonical
from forge_project.ledger import statements
from forge_project.ledger.errors import OperationConflict
from forge_project.ledger.events import Event
from forge_project.ledger.models import OperationState
from forge_project.ledger.writing import Page

Observation = Literal["matches_expected_state", "matches_prior_state", "diverged", "unreadable"]
Disposition = Literal["completed", "not_applied", "retried", "parked"]
_SETTLED_AS = {
    "completed": OperationState.RECOVERY_COMPLETED,
    "not_applied": OperationState.RECOVERY_NOT_APPLIED,
    "retried": OperationState.RETRIED,
    "parked": OperationState.RECOVERY_PARKED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One operation's identity: the call it belongs to and the keyed digest of {tool, args}."""

    operation_id: str
    call_id: str
    tool: str
    args: Any  # redacted: what may be shown
    args_digest: str
    recovery_mode: str
    effect: str = ""  # its class, as declared when it was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an operation ended: the redacted result (or error) and its keyed digest. An error is an outcome too.

    `status` and `side_effect` are the call's, so that its row can be rebuilt from its events.
    """

    result: Any
    result_digest: str = ""
    is_error: bool = False
    status: str = ""
    side_effect: str = ""

    def said(self) -> dict[str, str]:
        """What is said of it beside the result."""
        told = {"result_digest": self.result_digest, "status": self.status, "side_effect": self.side_effect}
        return {name: value for name, value in told.items() if value}


def operation_id(invocation_id: str, call_id: str) -> str:
    """`toolop_` and 32 hex, derived: a repeat names the same operation."""
    return "toolop_" + hashlib.sha256(canonical([invocation_id, call_id])).hexdigest()[:32]


def request(page: Page, tool: Tool, purpose: str = "", *, new: bool = False) -> None:
    """Journals that the guest asked for this call; the first of an operation's events (`new`: Page.add)."""
    said = {"args_digest": tool.args_digest} | ({"purpose": purpose} if purpose else {})
    said |= {"effect": tool.effect} if tool.effect else {}
    page.add(
        Event(
            event_id=f"{tool.operation_id}_call",
            role="model",
            author="agent",
            content={"kind": "function_call", "id": tool.call_id, "name": tool.tool, "args": tool.args},
            actions={"forge": {"fact": "call.requested"} | said},
            refs=refs_of(tool, bound=False),
        ),
        new=new,
    )
    if new:
        page.opens(tool.operation_id)


def prepare(page: Page, tool: Tool, attempt: int) -> bool:
    """T1: the dispatch fact. True = this writer may dispatch; False = this very attempt has already prepared it."""
    if not _insert(page, tool, attempt, OperationState.PREPARED):
        row = row_of(page, tool)
        if (row.invocation_id, row.call_id, row.args_digest) != (page.invocation_id, tool.call_id, tool.args_digest):
            raise OperationConflict("this operation is another call's", scan="identity_conflict")
        if row.state == OperationState.PREPARED and row.attempt == attempt:
            return False
        if row.state != OperationState.RETRIED or row.attempt >= attempt:
            raise OperationConflict("this operation was dispatched before", scan="duplicate_dispatch")
        move_row(tool, row, OperationState.PREPARED, attempt=attempt)
    dispatch = {
        "operation_id": tool.operation_id,
        "tool_call_id": tool.call_id,
        "tool": tool.tool,
        "args_digest": tool.args_digest,
        "recovery_mode": tool.recovery_mode,
        "attempt": attempt,
    }
    page.add(
        Event(
            event_id=f"{tool.operation_id}_dispatch_{attempt}",
            actions={"tool_dispatch": dispatch},
            refs=refs_of(tool),
        ),
        new=True,
    )
    return True


def outcome(page: Page, tool: Tool, ended: Outcome) -> bool:
    """T2: the outcome of a prepared operation. False = this very outcome was there already."""
    page.settle()
    if statements.commit_outcome(tool.operation_id):
        page.add(_response(tool, ended), new=True)
        return True
    row = row_of(page, tool)
    if row.state != OperationState.OUTCOME_COMMITTED:
        raise OperationConflict("this operation is settled already", scan="duplicate_response", state=row.state)
    page.add(_response(tool, ended))  # the exact repeat passes, another outcome is a conflict
    return False


def reject(page: Page, tool: Tool, ended: Outcome) -> None:
    """A call that is never dispatched (denied, expired, cancelled, bad input): an unbound error response."""
    if not _insert(page, tool, 0, OperationState.REJECTED) and row_of(page, tool).state != OperationState.REJECTED:
        raise OperationConflict("a dispatched call can't be rejected", scan="lane_conflict")
    page.add(_response(tool, ended, bound=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What was seen after a crash, and what follows from it. `outcome` stands for completed and not_applied."""

    attempt: int
    observation: Observation
    observation_digest: str
    disposition: Disposition
    reason: str
    outcome: Outcome | None = None


def _refuse_contradiction(seen: Recovery) -> None:
    if seen.disposition in {"parked", "retried"}:
        if seen.outcome is not None:
            raise OperationConflict("what is not settled has no outcome", scan="outcome_for_parked")
        return
    if seen.outcome is None:
        raise OperationConflict("what is settled has an outcome", scan="outcome_required")
    if (seen.disposition == "completed") != (seen.observation == "matches_expected_state"):
        raise OperationConflict("this decision does not follow from what was seen", scan="reconcile_decision_conflict")
    if (seen.disposition == "completed") == seen.outcome.is_error:
        raise OperationConflict(
            "completed goes with a success, not_applied with an error", scan="outcome_not_successful"
        )


def recover(page: Page, tool: Tool, seen: Recovery) -> None:
    """The recovery bundle: reconcile result, outcome where there is one, decision; one per operation and attempt."""
    _refuse_contradiction(seen)
    row = row_of(page, tool)
    to = _SETTLED_AS[seen.disposition]
    # A parked one that was observed once more, or a read that was to be asked again and will not be.
    again = row.state != to and row.state in (OperationState.RECOVERY_PARKED, OperationState.RETRIED)
    if row.state == OperationState.RETRIED and to not in (OperationState.RETRIED, OperationState.RECOVERY_NOT_APPLIED):
        raise OperationConflict("what is to be asked again is asked or given up", scan="reconcile_decision_conflict")
    if row.state != to:
        move_row(tool, row, to, only=OperationState(row.state) if again else OperationState.PREPARED)
    suffix = "_again" if again else ""
    ids = [f"{tool.operation_id}_call", f"{tool.operation_id}_dispatch_{row.attempt}"]
    ids.append(f"{tool.operation_id}_reconcile_{seen.attempt}{suffix}")
    reconciled = {
        "kind": "reconcile_result",
        "observation": seen.observation,
        "digest": seen.observation_digest,
        "attempt": seen.attempt,
    }
    page.add(Event(event_id=ids[-1], actions={"tool_recovery": reconciled}, refs=refs_of(tool)))
    if seen.outcome is not None:
        ids.append(f"{tool.operation_id}_response")
        page.add(_response(tool, seen.outcome))
    decision = {
        "kind": "recovery_decision",
        "disposition": seen.disposition,
        "reason": seen.reason,
        "evidence": ids,
        "attempt": seen.attempt,
    }
    event_id = f"{tool.operation_id}_decision_{seen.attempt}{suffix}"
    page.add(Event(event_id=event_id, actions={"tool_recovery": decision}, refs=refs_of(tool)))


def _response(tool: Tool, ended: Outcome, *, bound: bool = True) -> Event:
    content = {"kind": "function_response", "id": tool.call_id, "name": tool.tool, "result": ended.result}
    if ended.is_error:
        content["is_error"] = True
    said = {"forge": {"fact": "call.outcome"} | told} if (told := ended.said()) else None
    return Event(
        event_id=f"{tool.operation_id}_response",
        role="tool",
        author="tool",
        content=content,
        actions=said,
        refs=refs_of(tool, bound=bound),
    )


def refs_of(tool: Tool, *, bound: bool = True) -> dict[str, str]:
    """The refs of an operation's events; an unbound one was never dispatched."""
    return {"tool_call_id": tool.call_id} | ({"operation_id": tool.operation_id} if bound else {})


class Row(NamedTuple):
    """An operation's row as it was read."""

    invocation_id: str
    call_id: str
    args_digest: str
    state: str
    attempt: int
    version: int
    tool: str


def row_of(page: Page, tool: Tool) -> Row:
    """The operation's row; OperationConflict (orphan_response) where nothing was dispatched."""
    page.settle()
    found = statements.operation(tool.operation_id)
    if found is None:
        raise OperationConflict("no dispatch precedes this", scan="orphan_response")
    return Row(*found)


def _insert(page: Page, tool: Tool, attempt: int, state: OperationState) -> bool:
    ours = (tool.operation_id, page.invocation_id, tool.call_id, tool.tool, tool.args_digest, tool.recovery_mode)
    return page.insert_operation((*ours, attempt, state.value))


def move_row(
    tool: Tool, row: Row, to: OperationState, *, only: OperationState | None = None, attempt: int | None = None
) -> None:
    """One conditional UPDATE: from `only` (or the state just read) and the version just read."""
    was = (only.value if only else row.state, row.version)
    if not statements.move_operation(tool.operation_id, was, to.value, attempt or row.attempt):
        raise OperationConflict("this operation is settled already", scan="duplicate_response", state=row.state)
