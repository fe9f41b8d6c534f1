"""One invocation's chain, event by event: where it is broken, and what is wrong there. Never re-canonicalises."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from forge_project.ledger.events import Identity, chain, ends, kind_of

EVENT = ["seq", "event_id", "owner", "kind", "source", "operation_id", "payload", "committed_at", "prev_hash", "hash"]
INVOCATION = ["id", "session_id", "run_id", "turn_id", "owner", "head_seq", "head_hash", "sealed_at", "follows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One break: in which invocation, at which seq (0 = the invocation's own row), and what is wrong."""

    invocation: str
    seq: int
    problem: str
    detail: str = ""

    def json(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The sealed invocation that a successor goes on from."""

    identity: tuple[str, ...]  # session, run, turn, owner
    head_hash: str
    sealed: bool


class Walk:
    """Takes the events in the order of their seq; `finish` compares the end with the invocation's row."""

    def __init__(self, row: tuple[Any, ...], before: Before | None = None) -> None:
        fields = dict(zip(INVOCATION, row, strict=True))
        self.head_seq, self.head_hash, self.sealed_at = fields["head_seq"], fields["head_hash"], fields["sealed_at"]
        self.identity = Identity(
            invocation_id=fields["id"], **{name: fields[name] for name in ("session_id", "run_id", "turn_id", "owner")}
        )
        self.seq, self.ended = 0, False
        self.findings: list[Finding] = []
        self.hash = self._begin(fields["follows"], before)
        ours = self.identity
        self._place = (ours.session_id, ours.invocation_id, ours.run_id, ours.turn_id)

    def _begin(self, follows: str, before: Before | None) -> str:
        """What the first event's prev_hash has to be: of the identity, or the sealed head that is gone on from."""
        ours = self.identity
        if not follows:
            return ours.genesis()
        if before is None:
            self._find(0, "predecessor_missing", follows)
            return ""
        if before.identity != (ours.session_id, ours.run_id, ours.turn_id, ours.owner):
            self._find(0, "family_differs", follows)
        if not before.sealed:
            self._find(0, "predecessor_unsealed", follows)
        return before.head_hash

    def step(self, row: tuple[Any, ...]) -> None:
        """The next event."""
        seq, event_id, owner, kind, source, operation_id, payload, at, prev, digest = row
        if seq > self.seq + 1:
            self._find(self.seq + 1, "missing", f"{seq - self.seq - 1} events")
        elif seq <= self.seq:
            self._find(seq, "duplicate_seq")
        if self.ended:
            self._find(seq, "after_terminal")
        if prev != self.hash and seq == self.seq + 1:
            self._find(seq, "broken_link")
        if chain(prev, self.identity.invocation_id, seq, event_id, source, at, payload) != digest:
            self._find(seq, "edited")
        elif self._columns_differ(event_id, owner, kind, operation_id, payload):
            self._find(seq, "columns_differ")
        self.seq, self.hash = seq, digest

    def _columns_differ(self, event_id: str, owner: str, kind: str, operation_id: str, payload: str) -> bool:
        try:
            body = json.loads(payload)
            self.ended = self.ended or ends(body)
            return (event_id, kind, operation_id, owner) != (
                body["event_id"],
                kind_of(body),
                (body.get("refs") or {}).get("operation_id", ""),
                self.identity.owner,
            ) or self._place != (body["session_id"], body["invocation_id"], body["run_id"], body["turn_id"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return True

    def finish(self) -> list[Finding]:
        """Every finding, once the last event was seen."""
        if self.seq < self.head_seq:
            self._find(self.seq + 1, "missing", f"the last {self.head_seq - self.seq} events")
        elif self.seq > self.head_seq:
            self._find(self.head_seq + 1, "beyond_head")
        elif self.hash != self.head_hash:
            self._find(self.seq, "head_differs")
        elif bool(self.sealed_at) != self.ended:
            self._find(0, "seal_differs")
        return self.findings

    def _find(self, seq: int, problem: str, detail: str = "") -> None:
        self.findings.append(Finding(invocation=self.identity.invocation_id, seq=seq, problem=problem, detail=detail))
