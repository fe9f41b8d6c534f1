"""An execution's events as a person reads them: by turn, with the time since it was asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from executions.services import timeline
from forge_project.kernel import visible


@dataclass(slots=True, kw_only=True)
class Turn:
    """What happened from one turn of the program to the next; `entries` are ready to be shown."""

    title: str
    entries: list[dict[str, Any]] = field(default_factory=list)


def turns(events: Sequence[dict[str, Any]]) -> list[Turn]:
    """Events as `selectors.events` shows them, in groups, none left out."""
    found: list[Turn] = []
    began = _at(events[0]) if events else None
    for event in events:
        if event["kind"] == "forge.turn" or not found:
            found.append(Turn(title=_title(event)))
        found[-1].entries.append(
            {
                "seq": event["seq"],
                "at": f"{event['committed_at'][:10]} {event['committed_at'][11:23]} UTC",
                "after": _since(began, event),
                "kind": visible.said(event["kind"]),
                "detail": visible.said(timeline.detail(event)),
                "hash": event["hash"],
                "verified": event["verified"],
            }
        )
    return found


def _title(event: dict[str, Any]) -> str:
    said = ((event["payload"] or {}).get("actions") or {}).get("forge") or {}
    turn = said.get("turn")
    if event["kind"] != "forge.turn" or not isinstance(turn, dict):
        return "From the request on"
    given = ", ".join(map(str, turn["given"]))
    calls = ", ".join(f"{call['n']} {visible.said(call['tool'])}" for call in turn["said"]["calls"])
    told = [f"given the result of call {given}"] if given else []
    told += [f"asks for call {calls}"] if calls else []
    return f"Turn {turn['number']}, attempt {said['attempt']}: {'; '.join(told) or 'no calls'}"


def _since(began: datetime | None, event: dict[str, Any]) -> str:
    return f"+{(_at(event) - began).total_seconds():.3f} s" if began else ""


def _at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["committed_at"])
