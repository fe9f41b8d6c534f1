"""An operation's journal and standing, derived from its events alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Q

from forge_project.ledger import aftermath, evidence, selectors
from forge_project.ledger.models import Event, Operation, OperationState

_DECIDED = {
    "completed": "recovery_completed",
    "not_applied": "recovery_not_applied",
    "parked": "recovery_parked",
    "retried": "retried",
}
_FACTS = {aftermath.HANDLE: "handle", aftermath.LATE: "late_outcome", aftermath.RESOLVED: "resolved"}
Standing = Literal["completed", "parked", "not_dispatched", "indeterminate", "corrupt"]
_STANDINGS: dict[str, Standing] = {
    OperationState.REJECTED: "completed",
    OperationState.PREPARED: "indeterminate",
    OperationState.OUTCOME_COMMITTED: "completed",
    OperationState.RETRIED: "not_dispatched",
    OperationState.RECOVERY_COMPLETED: "completed",
    OperationState.RECOVERY_NOT_APPLIED: "completed",
    OperationState.RECOVERY_PARKED: "parked",
    OperationState.RESOLVED: "completed",
    OperationState.CALLED: "not_dispatched",
    OperationState.ANSWERED: "completed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One step of an operation: prepared, reconcile_observed, outcome_committed, recovery_*, retried, resolved …"""

    state: str
    event_id: str
    invocation_id: str
    seq: int
    committed_at: str
    metadata: dict[str, Any]
    external_handle: str = ""


def journal(operation_id: str) -> list[Entry]:
    """The steps in the order they were committed, over the whole family; [] for an operation that is not there."""
    row = Operation.objects.filter(pk=operation_id).first()
    if row is None:
        return []
    family = selectors.family(row.invocation_id)
    events = Event.objects.filter(invocation_id__in=family, operation_id=operation_id).order_by("id")
    return list(_entries(events.iterator(chunk_size=500)))


def _entries(events: Iterator[Event]) -> Iterator[Entry]:
    handle = ""
    for event in events:
        payload = evidence.read(event) or {}
        found = _step(payload)
        if found is None:
            continue
        state, metadata = found
        handle = str(metadata.get("external_handle", handle))
        yield Entry(
            state=state,
            event_id=event.event_id,
            invocation_id=event.invocation_id,
            seq=event.seq,
            committed_at=event.committed_at,
            metadata=metadata,
            external_handle=handle,
        )


def _step(payload: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    actions = payload.get("actions") or {}
    content = payload.get("content") or {}
    match actions:
        case {"tool_dispatch": dict(said)}:
            return "prepared", said
        case {"tool_recovery": {"kind": "reconcile_result"} as said}:
            return "reconcile_observed", said
        case {"tool_recovery": {"kind": "recovery_decision", "disposition": disposition} as said}:
            return _DECIDED[disposition], said
        case {"forge": {"fact": name} as said} if name in _FACTS:
            return _FACTS[name], said
    if content.get("kind") == "function_response":
        return "outcome_committed", {"is_error": content.get("is_error", False)} | (actions.get("forge") or {})
    return None


def standing(invocation_id: str, call_id: str) -> Standing | None:
    """How a call stands: completed, parked, not_dispatched, indeterminate (in flight, or imported), corrupt.

    None for a call that is not there.
    """
    row = Operation.objects.filter(invocation_id=invocation_id, call_id=call_id).first()
    ours = Q(event_id__endswith="_call", payload__contains=call_id) | Q(operation_id=row.pk if row else "-")
    events = list(Event.objects.filter(ours, invocation_id__in=selectors.family(invocation_id)))
    if not all(evidence.holds(event, evidence.read(event)) for event in events):
        return "corrupt"
    if row is None:
        return "not_dispatched" if events else None
    if row.state == OperationState.CALLED:
        asked = Event.objects.filter(invocation_id=invocation_id, kind="function_call", payload__contains=call_id)
        if asked.filter(source="import").exists():
            return "indeterminate"
    return _STANDINGS[row.state]
