"""What the ledger holds of one approval, and whether its chain is whole."""

from dataclasses import dataclass
from typing import Any

from approvals.admin import words
from approvals.models import Approval
from forge_project.ledger import selectors
from forge_project.ledger.verify import Report, verify

_SAID = ("decision", "actor", "reason", "method", "was", "supersedes", "n", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event of the approval: its place, what it says, and whether the chain holds up to it."""

    seq: int
    at: str
    kind: str
    hash: str
    said: list[tuple[str, str]]
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The approval's events, and how many events of its invocation were verified, or what was found broken."""

    entries: list[Entry]
    events: int
    problems: list[str]


def history(row: Approval) -> History:
    """Walks the invocation's whole chain now."""
    report = verify(row.invocation_id)
    entries = [
        _entry(event, said, report)
        for event in selectors.events(row.invocation_id)
        if event.source == "forge" and event.kind.startswith("approval.")
        if (said := selectors.payload(event).get("actions", {}).get("forge", {})).get("ref") == row.ref
    ]
    problems = [f"{found.problem} at seq {found.seq}" for found in report.findings]
    return History(entries=entries, events=report.events, problems=problems)


def _entry(event: Any, said: dict[str, Any], report: Report) -> Entry:
    return Entry(
        seq=event.seq,
        at=event.committed_at,
        kind=event.kind,
        hash=event.hash[:12],
        said=[(name, words.said(str(said[name]))) for name in _SAID if said.get(name)],
        verified=all(found.seq > event.seq for found in report.findings),
    )
