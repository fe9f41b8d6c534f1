"""What an event is made of, before it has its place in the chain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from forge_project.kernel import clock
from forge_project.kernel.canonical import sha256, text

Source = Literal["forge", "agent", "import"]
Role = Literal["user", "model", "tool", "system"]
Author = Literal["user", "agent", "tool", "system"]
Status = Literal["completed", "failed", "aborted", "cancelled", "streaming"]
TERMINAL: frozenset[str] = frozenset(("completed", "failed", "aborted", "cancelled"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The one (session, run, turn) and owner an invocation belongs to."""

    invocation_id: str
    session_id: str
    run_id: str
    turn_id: str
    owner: str

    def genesis(self) -> str:
        """The prev_hash of the first event."""
        parts = [self.invocation_id, self.session_id, self.run_id, self.turn_id, self.owner]
        return sha256(text(parts).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fact to be appended. `event_id` None = a new uuid7; `ts` None = the writer's clock, milliseconds."""

    role: Role = "system"
    author: Author = "system"
    content: Mapping[str, Any] | None = None
    actions: Mapping[str, Any] | None = None
    refs: Mapping[str, str] | None = None
    status: Status | None = None
    branch: str | None = None
    partial: bool = False
    event_id: str | None = None
    ts: int | None = None
    source: Source = "forge"

    @property
    def terminal(self) -> bool:
        """Whether this event seals its invocation."""
        return not self.partial and (self.status in TERMINAL or (self.actions or {}).get("end_invocation") is True)

    def payload(self, identity: Identity, event_id: str, ts: int | None = None) -> dict[str, Any]:
        """The exact-key JSON that is stored; absent fields are left out."""
        optional = {
            "branch": self.branch,
            "status": self.status,
            "content": self.content,
            "actions": self.actions,
            "refs": self.refs,
        }
        return {
            "event_id": event_id,
            "session_id": identity.session_id,
            "invocation_id": identity.invocation_id,
            "run_id": identity.run_id,
            "turn_id": identity.turn_id,
            "ts": ts if ts is not None else self.ts if self.ts is not None else clock.millis(clock.now()),
            "role": self.role,
            "author": self.author,
            "partial": self.partial,
        } | {name: value for name, value in optional.items() if value is not None}


def kind_of(payload: Mapping[str, Any]) -> str:
    """The `kind` column: content kind, else status, else dispatch, end, the forge fact's name, else runtime_fact."""
    actions = payload.get("actions") or {}
    if content := payload.get("content"):
        return str(content["kind"])
    if status := payload.get("status"):
        return str(status)
    if "tool_dispatch" in actions:
        return "tool_dispatch"
    if actions.get("end_invocation") is True:
        return "invocation_end"
    return str((actions.get("forge") or {}).get("fact", "runtime_fact"))


def ends(payload: Mapping[str, Any]) -> bool:
    """Whether a stored event seals its invocation."""
    if payload.get("partial"):
        return False
    return payload.get("status") in TERMINAL or (payload.get("actions") or {}).get("end_invocation") is True


def fact(name: str, /, *, status: Status | None = None, event_id: str | None = None, **data: Any) -> Event:
    """One of Forge's own facts: `actions.forge = {fact, …}`."""
    return Event(actions={"forge": {"fact": name} | data}, status=status, event_id=event_id)


def chain(prev_hash: str, invocation_id: str, seq: int, event_id: str, source: str, at: str, payload: str) -> str:
    """The hash of one event over its stored text and its place."""
    head = "\n".join(("forge1", prev_hash, invocation_id, str(seq), event_id, source, at))
    return sha256(f"{head}\n{payload}".encode())
