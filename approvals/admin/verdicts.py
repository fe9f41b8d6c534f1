"""What reviewers said of a call before a person was asked: a model's words, marked as such."""

from typing import Any

from approvals.admin import words
from approvals.models import Approval
from forge_project.ledger import selectors

_SAID = ("reviewer", "stage", "model", "said", "decision", "reason")


def verdicts(row: Approval) -> list[dict[str, str]]:
    """In the order they were given, from the ledger; empty where no reviewer looked."""
    found: list[dict[str, str]] = []
    for event in selectors.events(row.invocation_id):
        if event.kind != "policy.reviewed":
            continue
        told: dict[str, Any] = (selectors.payload(event).get("actions") or {}).get("forge") or {}
        if told.get("call_id") == row.call_id:
            whole = "all of the request" if told.get("whole") else "only a part of the request"
            found.append({name: words.said(str(told.get(name, ""))) for name in _SAID} | {"saw": whole})
    return found
