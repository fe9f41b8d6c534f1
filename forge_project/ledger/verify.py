"""Verifies the ledger: chains, the signatures of tombstones and checkpoints, and what other rows bear witness to."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from forge_project.ledger import anchors, ports, statements
from forge_project.ledger.models import Event, Invocation, Operation
from forge_project.ledger.tombstones import Removed, standing
from forge_project.ledger.walk import EVENT, INVOCATION, Before, Finding, Walk

__all__ = ["Finding", "Report", "verify"]
_CHUNK = 2000
_INVOCATIONS_A_PAGE = 500


@dataclass(slots=True, kw_only=True)
class Report:
    """What one verification saw."""

    events: int
    invocations: int
    findings: list[Finding]
    checkpoints: int = 0


def verify(
    invocation_id: str | None = None, progress: Callable[[int], object] | None = None, against: Path | None = None
) -> Report:
    """Checks every chain, or the one family named; `progress` is told how many events were read since last time.

    The whole ledger is also held against its checkpoints, against `against` (a sink's file, or receipts), and against
    the rows elsewhere that name an invocation.
    """
    report = Report(events=0, invocations=0, findings=[])
    removed = standing(report.findings, invocation_id)
    rows = Invocation.objects.order_by("pk").values_list(*INVOCATION)
    if invocation_id is not None:
        rows = rows.filter(pk__in=_family(invocation_id))
    last: str | None = None
    while page := list(rows.filter(**({} if last is None else {"pk__gt": last}))[:_INVOCATIONS_A_PAGE]):
        last = page[-1][0]
        _check(page, removed, report, progress)
    report.findings += _orphans(invocation_id)
    if invocation_id is None:
        report.findings += _witnessed()
        report.checkpoints = anchors.check(report.findings, removed, against)
    return report


def _family(invocation_id: str) -> list[str]:
    found = Invocation.objects.filter(pk=invocation_id).first()
    return found.family if found else [invocation_id]


def _check(
    page: list[tuple[Any, ...]], removed: dict[str, Removed], report: Report, progress: Callable[[int], object] | None
) -> None:
    """One page of invocations with all their events."""
    befores = _befores(page)
    walks = {row[0]: Walk(row, befores.get(row[-1])) for row in page}
    events = Event.objects.filter(invocation_id__in=list(walks)).order_by("invocation_id", "seq", "id")
    read = 0
    current, step = "", None
    seen = set()
    for event in events.values_list("invocation_id", *EVENT).iterator(chunk_size=_CHUNK):
        if step is None or event[0] != current:
            current = event[0]
            step = walks[current].step
            seen.add(current)
        step(event[1:])
        read += 1
        if progress is not None and read % _CHUNK == 0:
            progress(_CHUNK)
    if progress is not None:
        progress(read % _CHUNK)
    report.events += read
    report.invocations += len(walks)
    for ref, walk in walks.items():
        gone = removed.get(ref)
        if gone is not None and ref not in seen and gone.head == (walk.head_seq, walk.head_hash):
            continue  # removed by retention, whole, and signed for
        if walk.finish():  # or somebody appended, sealed or purged between our two reads
            report.findings += _again(ref)


def _again(ref: str) -> list[Finding]:
    """One chain once more, under its lock: nobody appends meanwhile."""
    with transaction.atomic():
        statements.lock_invocation(ref, wait=True)
        row = Invocation.objects.filter(pk=ref).values_list(*INVOCATION).first()
        if row is None:
            return [Finding(invocation=ref, seq=0, problem="invocation_missing", detail="it was there a moment ago")]
        walk = Walk(row, _befores([row]).get(row[-1]))
        for event in Event.objects.filter(invocation_id=ref).order_by("seq", "id").values_list(*EVENT).iterator():
            walk.step(event)
        gone = standing([], ref).get(ref)
        if gone is not None and walk.seq == 0 and gone.head == (walk.head_seq, walk.head_hash):
            return []
        return walk.finish()


def _befores(page: list[tuple[Any, ...]]) -> dict[str, Before]:
    wanted = {row[-1] for row in page if row[-1]}
    if not wanted:
        return {}
    columns = ("pk", "session_id", "run_id", "turn_id", "owner", "head_hash", "sealed_at")
    found = Invocation.objects.filter(pk__in=wanted).values_list(*columns)
    return {row[0]: Before(identity=row[1:5], head_hash=row[5], sealed=bool(row[6])) for row in found}


def _orphans(invocation_id: str | None) -> Iterator[Finding]:
    """Events whose invocation row is gone."""
    lost = Event.objects.filter(~Exists(Invocation.objects.filter(pk=OuterRef("invocation_id"))))
    lost = lost if invocation_id is None else lost.filter(invocation_id=invocation_id)
    for ref, seq in lost.values_list("invocation_id", "seq"):
        yield Finding(invocation=ref, seq=seq, problem="orphan_event")


def _witnessed() -> Iterator[Finding]:
    """Invocations that are gone, though rows elsewhere were written with them."""
    lost = Operation.objects.filter(~Exists(Invocation.objects.filter(pk=OuterRef("invocation_id"))))
    ours: Iterable[str] = lost.values_list("invocation_id", flat=True).distinct().iterator()
    told: set[str] = set()
    for witness, refs in [("operation", ours), *((name, ask()) for name, ask in ports.witnesses.items())]:
        for ref in refs:
            if ref not in told:
                told.add(ref)
                yield Finding(invocation=ref, seq=0, problem="invocation_missing", detail=f"named by an {witness}")
