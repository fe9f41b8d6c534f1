"""All that hangs on an execution, as text for people's eyes."""

from typing import Any

from approvals.models import Approval
from executions.admin.timeline import turns
from executions.models import Execution
from executions.selectors import events
from executions.states import TERMINAL, CallStatus
from forge_project.kernel import visible
from forge_project.ledger.verify import verify

MAX_EVENTS = 500  # on the page; the audit has every one


def story(ref: str) -> dict[str, Any]:
    """Calls, attempts, output, approvals, events and whether their chain holds; {} for a ref that is not there."""
    execution = None if "\0" in ref else Execution.objects.filter(pk=ref).first()
    if execution is None:
        return {}
    report = verify(ref)
    shown = events.as_json(list(events.of(ref).order_by("id")[:MAX_EVENTS]))
    return {
        "live": execution.status not in TERMINAL,
        "unknown": list(execution.calls.filter(status=CallStatus.UNKNOWN).values_list("pk", flat=True)),
        "calls": _calls(execution),
        "attempts": execution.attempts.select_related("worker").order_by("number"),
        "outputs": _output(execution),
        "approvals": Approval.objects.filter(execution_ref=ref).order_by("n", "requested_at"),
        "turns": turns(shown),
        "cut": report.events > len(shown),
        "events_count": report.events,
        "problems": [f"{found.problem} at seq {found.seq}" for found in report.findings],
    }


def _calls(execution: Execution) -> list[dict[str, Any]]:
    names = ("pk", "n", "tool", "status", "side_effect", "error_code", "purpose", "approval_ref")
    rows = execution.calls.order_by("round", "n").values(*names)
    return [{**row, "tool": _safe(row["tool"]), "purpose": _safe(row["purpose"])} for row in rows]


def _output(execution: Execution) -> list[tuple[str, str]]:
    streams: dict[str, list[str]] = {}
    for stream, text in execution.output.order_by("stream", "offset").values_list("stream", "text"):
        streams.setdefault(stream, []).append(text)
    return [(stream, _safe("".join(texts))) for stream, texts in streams.items()]


def _safe(text: str) -> str:
    return visible.said(text)
