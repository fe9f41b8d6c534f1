"""Events of one family, in order, into the rows they tell of: {column: value}."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from executions.services import sealed
from executions.services.rebuild import approvals
from executions.states import CallStatus, SideEffect, worst
from forge_project.kernel import canonical
from forge_project.ledger import evidence
from forge_project.ledger.models import Event

Columns = dict[str, Any]
_QUIET = ("read", "internal")


class Corrupt(Exception):
    """An event that is not as it was written: nothing can be rebuilt from its family."""


@dataclass(slots=True)
class Rows:
    """What the events of one execution say that its rows hold: calls by call_id, approvals by ref, what the agent was
    asked by `ref n`."""

    ref: str
    execution: Columns = field(default_factory=dict)
    calls: dict[str, Columns] = field(default_factory=dict)
    approvals: dict[str, Columns] = field(default_factory=dict)
    questions: dict[str, Columns] = field(default_factory=dict)

    @property
    def effect(self) -> str:
        """The worst side effect of the calls so far."""
        return worst([call["side_effect"] for call in self.calls.values()]).value


def fold(ref: str, events: Iterable[Event]) -> Rows:
    """The rows of `ref`; raises Corrupt with the place of the first event that does not hold."""
    rows = Rows(ref)
    for event in events:
        payload = evidence.read(event)
        if payload is None or not evidence.holds(event, payload):
            raise Corrupt(f"{event.invocation_id} seq {event.seq}")
        try:
            _take(rows, payload, event.committed_at)
        except (KeyError, TypeError, ValueError) as fault:  # it does not follow from what comes before it
            raise Corrupt(f"{event.invocation_id} seq {event.seq}") from fault
    return rows


def _take(rows: Rows, payload: dict[str, Any], at: str) -> None:
    match payload.get("actions") or {}:
        case {"tool_dispatch": said}:
            _dispatched(rows, said)
        case {"tool_recovery": {"kind": "recovery_decision", "disposition": "parked"}}:
            call = rows.calls[payload["refs"]["tool_call_id"]]
            call |= {"status": "unknown", "side_effect": "unknown", "error_code": "UNKNOWN_SIDE_EFFECT"}
        case {"forge": {"fact": "call.requested"} as said}:
            _requested(rows, payload, said)
        case {"forge": {"fact": "call.outcome"} as said}:
            _ended(rows.calls[payload["refs"]["tool_call_id"]], payload["content"], said)
        case {"forge": {"fact": "call.resolved", "became": became} as said}:
            told = {"status": CallStatus.RESOLVED.value, "side_effect": became}
            _ended(rows.calls[payload["refs"]["tool_call_id"]], said, said | told)
        case {"forge": {"fact": "forge.turn", "turn": turn}}:
            rows.execution["turns"] = turn["number"]
        case {"forge": {"fact": str(name)} as said} if name.startswith("approval."):
            approvals.take(rows.approvals, rows.questions, said, at)
            if name == "approval.requested" and (asked := rows.calls.get(said["call_id"])) is not None:
                asked |= {"status": "awaiting_approval", "approval_ref": said["ref"]}
        case {"forge": {"fact": str(name)} as said} if name.startswith("execution."):
            _moved(rows, name.removeprefix("execution."), said)


def _requested(rows: Rows, payload: dict[str, Any], said: Columns) -> None:
    content = payload["content"]
    call_id = content["id"]
    rows.calls[call_id] = {
        "n": int(call_id.rpartition(":")[2]),
        "tool": content["name"],
        "effect": said.get("effect", ""),
        "input_digest": said["args_digest"],
        "shown_input": canonical.text(content["args"]),
        "purpose": said.get("purpose", ""),
        "status": CallStatus.REQUESTED.value,
        "side_effect": SideEffect.NOT_STARTED.value,
        "attempt": 0,
        "approval_ref": "",
        "shown_result": "",
        "result_digest": "",
        "error_code": "",
    }


def _dispatched(rows: Rows, said: Columns) -> None:
    call = rows.calls[said["tool_call_id"]]
    call |= {"status": CallStatus.PREPARED.value, "attempt": said["attempt"]}
    quiet = call["effect"] in _QUIET
    call["side_effect"] = (SideEffect.NOT_STARTED if quiet else SideEffect.STARTED).value
    if not quiet:
        rows.execution["side_effect"] = SideEffect.STARTED.value


def _ended(call: Columns, content: Columns, said: Columns) -> None:
    result = content["result"]
    call |= {
        "status": said["status"],
        "side_effect": said["side_effect"],
        "shown_result": canonical.text(result),
        "result_digest": said["result_digest"],
        "error_code": result["code"] if content.get("is_error") else "",
    }


def _moved(rows: Rows, fact: str, said: Columns) -> None:
    """The execution's own facts. One that moves its status and is not named here shows as a difference."""
    row = rows.execution
    match fact:
        case "submitted":
            row |= {"kind": said["kind"], "capability": said["capability"], "status": "validating"}
            row |= {"interruption": said["interruption"], "timeout_ms": said["timeout_ms"]}
            row |= {"input_fingerprint": said["input_fingerprint"], "code_sha256": said["code_sha256"]}
            row |= {"side_effect": "not_started", "attempt": 0, "turns": 0, "worker": "", "error_code": ""}
            row |= {"error_message": "", "retryable": False, "unawaited": []}
            row |= {"cancel_requested_by": "", "cancel_reason": ""}
        case "queued":
            started = {"side_effect": rows.effect} if row["status"] != "validating" else {}
            row |= {"status": "queued", "worker": "", "error_code": "", "error_message": "", "retryable": False}
            row |= started | (_round(said) if said.get("reason") == "asked_again" else {})
        case "claimed":
            row |= {"status": "running", "attempt": said["attempt"], "worker": said["worker"]}
        case "taken_over":
            row["worker"] = said["worker"]
        case "parked":
            row |= {"status": "waiting_approval", "worker": "", "side_effect": rows.effect}
        case "stopping":
            row["status"] = "stopping"
        case "cancel_requested":
            row |= {"cancel_requested_by": said["actor"], "cancel_reason": said["reason"]}
        case "unknown":
            row |= {"status": "unknown", "worker": "", "side_effect": "unknown", "error_code": "UNKNOWN_SIDE_EFFECT"}
            row.pop("error_message", None)  # a constant of the code, not of the ledger
        case "finished":
            row |= {"status": said["outcome"], "worker": "", "side_effect": said["side_effect"]}
            row |= _error(said.get("error")) | {"unawaited": said.get("unawaited", [])}


def _round(said: Columns) -> Columns:
    """A key that asks again begins anew, with what its asking says."""
    begun = {"timeout_ms": said["timeout_ms"], "interruption": said["interruption"], "turns": 0}
    return begun | {"side_effect": SideEffect.NOT_STARTED.value, "unawaited": []}


def _error(error: Columns | None) -> Columns:
    if error is None:
        return {"error_code": "", "error_message": "", "retryable": False}
    told = {"error_code": error["code"], "error_message": sealed.column(error["message"])}
    return told | {"retryable": error["retryable"]}
