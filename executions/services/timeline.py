"""One line an event: what a person reads to see what happened when."""

from typing import Any

_DETAILS = ("reason", "attempt", "outcome", "side_effect", "became", "decision", "actor", "rule")
_WIDE = 100


def line(event: dict[str, Any]) -> str:
    """Time, seq, kind and a short detail of an event as `selectors.events` shows it."""
    mark = "" if event["verified"] else "  ! the chain is broken here"
    told = f"{event['committed_at'][11:23]}  {event['seq']:>3}  {event['kind']:<26} {detail(event)}".rstrip()
    return told + mark


def detail(event: dict[str, Any]) -> str:
    """The few words that tell this event from others of its kind; never a whole value."""
    payload = event["payload"] or {}
    actions, content = payload.get("actions") or {}, payload.get("content") or {}
    words = [_call(content["id"], content["name"])] if "name" in content else []
    words += ["failed"] if content.get("is_error") else []
    if dispatch := actions.get("tool_dispatch"):
        words += [_call(dispatch["tool_call_id"], dispatch["tool"]), f"attempt={dispatch['attempt']}"]
    said = (actions.get("forge") or {}) | (actions.get("tool_recovery") or {})
    if isinstance(turn := said.pop("turn", None), dict):
        words += [f"{turn['number']} given {','.join(map(str, turn['given'])) or 'nothing'}"]
    words += [f"{name}={said[name]}" for name in _DETAILS if said.get(name) not in (None, "", {}, [])]
    return " ".join(words)[:_WIDE]


def _call(call_id: str, tool: str) -> str:
    """The call's number and tool."""
    return f"#{call_id.rpartition(':')[2]} {tool}"
