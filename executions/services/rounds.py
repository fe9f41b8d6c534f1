"""The same key asks again, where nothing was applied and asking may help: a new round of the same execution."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from executions.models import Execution
from executions.services import hints, sealed, volume
from executions.services.places import take_place
from executions.services.submission import Submission
from executions.states import SideEffect, Status
from executions.transitions import move
from forge_project.ledger.events import Event, fact
from forge_project.ledger.writing import writing_after

_ENDED = (Status.FAILED, Status.TIMED_OUT)
_AGAIN = frozenset(("APPROVAL_EXPIRED", "APPROVAL_REQUIRED", "INTERRUPTED"))


class _NotNow(Exception):
    """It moved on while its lock was waited for; whatever was opened for the round is rolled back."""


def may_ask_again(row: Execution) -> bool:
    """Whether its key makes a new round of it. A cancel is final, and so is whatever was or may have been applied."""
    if row.status not in _ENDED or row.side_effect != SideEffect.NOT_APPLIED or row.cancel_requested_at is not None:
        return False
    return row.retryable or row.error_code in _AGAIN


def ask_again(ref: str, asked: Submission, on_behalf_of: User | None, expires_at: datetime) -> Execution | None:
    """The execution, queued again on the successor invocation; None where another was first. Raises TooMany."""
    try:
        with writing_after(ref) as page:
            row = Execution.objects.select_related("workspace", "on_behalf_of").get(pk=ref)
            if not may_ask_again(row):
                raise _NotNow
            number = int(page.invocation_id.rpartition("~")[2])
            take_place(asked.caller)
            request = _request(ref, asked, on_behalf_of)
            event = _asked_again(row, number, request)
            columns = request | _BLANK | {"expires_at": expires_at, "round": number}
            move(page, row, Status.QUEUED, event, lease=None, **columns)
            volume.add(row, volume.size(asked.request))
            volume.account(row)
            hints.send_on_commit()
    except _NotNow:
        return None
    return row


def _asked_again(row: Execution, number: int, request: dict[str, Any]) -> Event:
    """What the new round goes by, as `execution.submitted` tells it of the first."""
    said = {name: request[name] for name in ("scope", "purpose", "interruption", "timeout_ms")}
    said |= {"round": number, "attempt": row.attempt, "was": row.error_code}
    behalf = request["on_behalf_of"]
    said["on_behalf_of"] = behalf.get_username() if behalf else ""
    return fact("execution.queued", reason="asked_again", **sealed.shown(row.ref, said))


def _request(ref: str, asked: Submission, on_behalf_of: User | None) -> dict[str, Any]:
    """What this asking says anew: all that the fingerprint does not cover, but for the client's own name for it."""
    return {
        "sealed_request": sealed.seal(asked.request),
        "scope": asked.scope,
        "correlation_id": asked.ids.get("correlation_id", ""),
        "purpose": sealed.said(ref, asked.purpose)[:500],
        "interruption": asked.interruption.value,
        "timeout_ms": asked.timeout_ms,
        "on_behalf_of": on_behalf_of,
    }


# What a round leaves on the row; its attempts, calls, output and events stay where they are.
_BLANK: dict[str, Any] = {
    "side_effect": SideEffect.NOT_STARTED,
    "sealed_start": None,
    "turns": 0,
    "crashes": 0,
    "active_ms": 0,
    "cpu_ms": 0,
    "due_at": None,
    "sealed_result": None,
    "shown_result": "",
    "no_value": False,
    "error_code": "",
    "error_message": "",
    "error_details": {},
    "retryable": False,
    "decision_path": "deterministic",
    "unawaited": [],
    "metrics": {},
    "progress": None,
    "quarantined": "",
    "started_at": None,
    "effect_started_at": None,
    "finished_at": None,
}
