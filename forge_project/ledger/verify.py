"""Walks the hash chain of stored text and says where it is broken. Never re-canonicalises."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Exists, OuterRef

from forge_project.ledger.events import TERMINAL, Identity, chain, kind_of
from forge_project.ledger.models import Event, Invocation, Tombstone

_EVENT = ["seq", "event_id", "owner", "kind", "source", "operation_id", "payload", "committed_at", "prev_hash", "hash"]
_INVOCATION = ["id", "session_id", "run_id", "turn_id", "owner", "head_seq", "head_hash", "sealed_at"]
_CHUNK = 2000
_INVOCATIONS_A_PAGE = 500


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


@dataclass(slots=True, kw_only=True)
class Report:
    """What one verification saw."""

    events: int
    invocations: int
    findings: list[Finding]


def verify(invocation_id: str | None = None, progress: Callable[[int], object] | None = None) -> Report:
    """Checks every chain, or the one named; `progress` is told how many events were read since last time."""
    report = Report(events=0, invocations=0, findings=[])
    rows = Invocation.objects.order_by("pk").values_list(*_INVOCATION)
    rows = rows if invocation_id is None else rows.filter(pk=invocation_id)
    last: str | None = None
    while page := list(rows.filter(**({} if last is None else {"pk__gt": last}))[:_INVOCATIONS_A_PAGE]):
        last = page[-1][0]
        walks = {row[0]: _Walk(row) for row in page}
        events = Event.objects.filter(invocation_id__in=list(walks)).order_by("invocation_id", "seq", "id")
        read = 0
        for event in events.values_list("invocation_id", *_EVENT).iterator(chunk_size=_CHUNK):
            walks[event[0]].step(event[1:])
            read += 1
            if progress is not None and read % _CHUNK == 0:
                progress(_CHUNK)
        if progress is not None:
            progress(read % _CHUNK)
        report.events += read
        report.invocations += len(walks)
        report.findings += [finding for walk in walks.values() for finding in walk.finish()]
    report.findings += _orphans(invocation_id)
    report.findings += _tombstones(invocation_id)
    return report


def _orphans(invocation_id: str | None) -> Iterator[Finding]:
    """Events whose invocation row is gone."""
    lost = Event.objects.filter(~Exists(Invocation.objects.filter(pk=OuterRef("invocation_id"))))
    lost = lost if invocation_id is None else lost.filter(invocation_id=invocation_id)
    for ref, seq in lost.values_list("invocation_id", "seq"):
        yield Finding(invocation=ref, seq=seq, problem="orphan_event")


def _tombstones(invocation_id: str | None) -> Iterator[Finding]:
    """A tombstone opens an invocation to deletion; none is signed yet, so each is a finding."""
    rows = Tombstone.objects.filter(**({} if invocation_id is None else {"pk": invocation_id}))
    for row in rows:
        yield Finding(invocation=row.invocation_id, seq=0, problem="unsigned_tombstone")


class _Walk:
    """One invocation's chain, event by event."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        fields = dict(zip(_INVOCATION, row, strict=True))
        self.head_seq, self.head_hash, self.sealed_at = fields["head_seq"], fields["head_hash"], fields["sealed_at"]
        self.identity = Identity(
            invocation_id=fields["id"], **{name: fields[name] for name in ("session_id", "run_id", "turn_id", "owner")}
        )
        self.seq, self.hash, self.ended = 0, self.identity.genesis(), False
        self.findings: list[Finding] = []

    def step(self, row: tuple[Any, ...]) -> None:
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
            ours = self.identity
            self.ended = self.ended or _terminal(body)
            return (event_id, kind, operation_id, owner) != (
                body["event_id"],
                kind_of(body),
                (body.get("refs") or {}).get("operation_id", ""),
                ours.owner,
            ) or (ours.session_id, ours.invocation_id, ours.run_id, ours.turn_id) != (
                body["session_id"],
                body["invocation_id"],
                body["run_id"],
                body["turn_id"],
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return True

    def finish(self) -> list[Finding]:
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


def _terminal(body: dict[str, Any]) -> bool:
    return body.get("status") in TERMINAL or (body.get("actions") or {}).get("end_invocation") is True
