"""The whole story of one execution, from what is stored and may be shown: redacted columns and the ledger."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from approvals import selectors as approvals
from approvals.models import Approval
from executions.models import Attempt, Call, Execution
from executions.selectors import events
from executions.services import sealed
from forge_project.kernel import clock
from forge_project.kernel.errors import Missing
from forge_project.ledger.models import Event
from forge_project.ledger.verify import verify

_EXECUTION = (
    "kind", "capability", "status", "side_effect", "caller_ref", "idempotency_key", "client_ref", "session_id",
    "root_session_id", "run_id", "turn_id", "tool_call_id", "correlation_id", "scope", "purpose", "interruption",
    "timeout_ms", "limits", "input_fingerprint", "code_sha256", "round", "attempt", "turns", "crashes", "active_ms",
    "cpu_ms", "cancel_requested_at", "cancel_requested_by", "cancel_reason", "no_value", "error_code", "error_message",
    "error_details", "retryable", "decision_path", "unawaited", "engine", "isolation", "selection_reason", "metrics",
    "termination_unconfirmed", "quarantined", "created_at", "started_at", "effect_started_at", "finished_at",
)  # fmt: skip
_ATTEMPT = ("number", "isolation", "started_at", "ended_at", "ending", "metrics")
_CALL = (
    "round", "n", "call_id", "operation_id", "tool", "effect", "recovery_mode", "status", "side_effect", "input_digest",
    "paths", "purpose", "attempt", "times_asked", "result_digest", "error_code", "evidence", "artifact_refs",
    "requested_at", "started_at", "ended_at",
)  # fmt: skip
_PAGE = 500


def audit(ref: str) -> dict[str, Any]:
    """{execution, attempts, calls (each with its approvals), events, verify}, as JSON. Raises Missing."""
    rows = Execution.objects.select_related("workspace", "on_behalf_of").filter(pk=ref)
    row = None if "\0" in ref else rows.first()  # no column holds it, and PostgreSQL can't be asked for it
    if row is None:
        raise Missing(f"no such execution: {ref}")
    asked = Approval.objects.filter(execution_ref=ref).select_related("decided_by", "revoked_by")
    asked = asked.order_by("requested_at", "ref")
    report = verify(ref)
    return {
        "execution": _execution(row),
        "attempts": [_attempt(one) for one in row.attempts.select_related("worker").order_by("number")],
        "calls": [
            _call(call, [a for a in asked if a.call_id == call.call_id]) for call in row.calls.order_by("round", "n")
        ],
        "events": list(_events(ref)),
        "verify": {"events": report.events, "findings": [asdict(finding) for finding in report.findings]},
    }


def _execution(row: Execution) -> dict[str, Any]:
    told = {"ref": row.ref} | _columns(row, _EXECUTION)
    told["workspace"] = row.workspace.name if row.workspace else ""
    told["on_behalf_of"] = row.on_behalf_of.get_username() if row.on_behalf_of else ""
    return told | ({"result": sealed.parse(row.shown_result)} if row.shown_result else {})


def _attempt(row: Attempt) -> dict[str, Any]:
    worker = {"id": str(row.worker_id), "host": row.worker.host, "pid": row.worker.pid}
    return _columns(row, _ATTEMPT) | {"worker": worker}


def _call(row: Call, asked: list[Approval]) -> dict[str, Any]:
    told = _columns(row, _CALL) | {"input": sealed.parse(row.shown_input)}
    told |= {"result": sealed.parse(row.shown_result)} if row.shown_result else {}
    return told | {"approvals": [_approval(one) for one in asked]}


def _approval(row: Approval) -> dict[str, Any]:
    """As the API shows it, and what it was tied to and when it was used."""
    tied = ("rule", "rule_version", "decided_at", "consumed_at", "ended_at", "authentication", "supersedes")
    return approvals.as_json(row) | _columns(row, tied)


def _events(ref: str) -> list[dict[str, Any]]:
    rows: list[Event] = list(events.of(ref).order_by("id").iterator(chunk_size=_PAGE))
    return events.as_json(rows)


def _columns(row: Any, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in names}
    return {name: clock.text(value) if isinstance(value, datetime) else value for name, value in values.items()}
