"""The record of an execution, and of a call, as the API shows them: optional fields are absent when empty."""

from contextlib import suppress
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from executions.models import Attempt, Call, Execution
from executions.selectors.traces import Traces
from executions.services import sealed
from executions.services.rounds import may_ask_again
from executions.states import TERMINAL, Kind, Status
from forge_project.kernel import clock
from forge_project.kernel.sealing import SealBroken

_REFS = (
    "client_ref", "correlation_id", "analysis_ref", "purpose", "code_sha256", "engine", "isolation", "selection_reason",
)  # fmt: skip
_FLAGS = ("round", "no_value", "unawaited", "termination_unconfirmed", "progress", "cancel_reason")
_IDS = ("session_id", "root_session_id", "run_id", "turn_id", "tool_call_id")
_PLAIN = ("interruption", "timeout_ms", "input_fingerprint", "decision_path", "side_effect", "retryable", "status")
_TIMES = ("started_at", "effect_started_at", "finished_at")


def record(row: Execution, traces: Traces) -> dict[str, Any]:
    """The record without its result, as lists have it."""
    told: dict[str, Any] = {
        "execution_ref": row.ref,
        "kind": row.kind,
        "capability": row.capability,
        "caller_ref": row.caller_ref,
        "idempotency_key": row.idempotency_key,
        "attempt_count": row.attempt,
        "evidence": traces.evidence,
        "artifact_refs": traces.artifact_refs,
        "metrics": row.metrics | {"turns": row.turns, "calls": traces.calls},
        "next": step(row, traces),
        "created_at": clock.text(row.created_at),
        "expires_at": clock.text(row.expires_at),
        "updated_at": clock.text(row.updated_at),
    }
    told |= {name: getattr(row, name) for name in (*_IDS, *_PLAIN)} | row.scope
    told |= {name: value for name in (*_REFS, *_FLAGS) if (value := getattr(row, name))}
    told |= {name: clock.text(moment) for name in _TIMES if (moment := getattr(row, name)) is not None}
    return told | {name: value for name, value in _optional(row, traces).items() if value}


def full(row: Execution, traces: Traces, reader: User) -> dict[str, Any]:
    """The record with its result: in the clear for its caller while it is kept, else as people may see it."""
    told = record(row, traces)
    if row.status != Status.SUCCEEDED or row.no_value:
        return told
    if reader.pk == row.caller_id and row.sealed_result is not None:
        with suppress(SealBroken):  # a key is missing: then as when the sealed copy is gone
            return told | {"result": sealed.unseal(row.sealed_result)}
    return told | {"result": sealed.parse(row.shown_result)}


def _optional(row: Execution, traces: Traces) -> dict[str, Any]:
    receipt, error = traces.receipt, {}
    if row.error_code:
        error = {"code": row.error_code, "message": row.error_message, "retryable": row.retryable}
        error |= {"details": row.error_details} if row.error_details else {}
    return {
        "limits": row.limits if row.kind == Kind.SCRIPT else {},
        "workspace": row.workspace.name if row.workspace else "",
        "on_behalf_of": row.on_behalf_of.get_username() if row.on_behalf_of else "",
        "approval_ref": traces.approval_ref,
        "error": error,
        "held": {"reason": held.reason, "since": clock.text(held.placed_at)} if (held := traces.held) else {},
        "cancel_requested": row.cancel_requested_at is not None,
        "receipt": {"head": receipt.head, "seq": receipt.seq} if receipt else {},
    }


def step(row: Execution, traces: Traces) -> dict[str, Any]:
    """What a model that reads this had best do next."""
    match Status(row.status):
        case Status.SUCCEEDED:
            return {"action": "done", "message": "It succeeded."}
        case Status.UNKNOWN:
            told = "An effect may have happened; an operator looks into it. Do not repeat it."
            return {"action": "stop", "message": told}
        case status if status not in TERMINAL and row.quarantined:
            told = "It is put aside, and goes on once an operator has seen to it."
            return {"action": "wait", "after_s": 60, "message": told}
        case status if status not in TERMINAL and traces.question is not None:
            return {"action": "wait", "after_s": 5, "message": _question(*traces.question)}
        case Status.WAITING_APPROVAL:
            told = f"A person has to decide {traces.approval_ref}; ask for this execution again later."
            return {"action": "wait", "after_s": 5, "message": told}
        case status if status not in TERMINAL and traces.held is not None:
            told = f"It is {status}, and an operator holds it back: {traces.held.reason}"
            return {"action": "wait", "after_s": 60, "message": told}
        case status if status not in TERMINAL:
            return {"action": "wait", "after_s": 1, "message": f"It is {status}; ask for this execution again."}
    if may_ask_again(row):
        return {
            "action": "resubmit",
            "message": f"{row.error_code}: nothing was applied; the same key and body ask again.",
        }
    return {"action": "stop", "message": f"{row.error_code}: {row.error_message}"}


def _question(ref: str, n: int) -> str:
    """That a person asks the agent something, and where; never what: that is the person's text, read at its place."""
    where = f"/api/v1/approvals/{ref}/"
    told = f"Before a person decides {ref}, they ask you something (question {n}): read `questions` of GET {where}, "
    return told + f'then answer with POST {where}answer/ {{"n": {n}, "text": "your answer"}}.'


def call(row: Call) -> dict[str, Any]:
    """One call, redacted, for every reader."""
    told: dict[str, Any] = {
        "call_id": row.call_id,
        "n": row.n,
        "tool": row.tool,
        "effect": row.effect,
        "status": row.status,
        "side_effect": row.side_effect,
        "input_digest": row.input_digest,
        "input": sealed.parse(row.shown_input),
        "operation_id": row.operation_id,
        "requested_at": clock.text(row.requested_at),
    }
    began: datetime | None = row.started_at
    if began is not None and row.ended_at is not None:
        told["duration_ms"] = max(0, clock.millis(row.ended_at) - clock.millis(began))
    told |= {name: clock.text(at) for name in ("started_at", "ended_at") if (at := getattr(row, name)) is not None}
    told |= {"result": sealed.parse(row.shown_result)} if row.shown_result else {}
    optional = ("round", "paths", "result_digest", "error_code", "approval_ref", "purpose", "evidence", "artifact_refs")
    return told | {name: value for name in optional if (value := getattr(row, name))}


def attempt(row: Attempt) -> dict[str, Any]:
    """One worker's try, for every reader; in order of their numbers."""
    told: dict[str, Any] = {
        "number": row.number,
        "worker": str(row.worker_id),
        "started_at": clock.text(row.started_at),
        "metrics": row.metrics,
    }
    told |= {"ended_at": clock.text(row.ended_at)} if row.ended_at is not None else {}
    return told | {name: value for name in ("isolation", "guest_pid", "ending") if (value := getattr(row, name))}
