"""Imports: a source is known by the digest of its bytes and goes in by batches, each all or nothing, with resume."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any, BinaryIO

from django.db import transaction

from forge_project.kernel import failpoints, strict_json
from forge_project.kernel.errors import ForgeError, TooLarge
from forge_project.ledger import generic
from forge_project.ledger.models import Import
from forge_project.ledger.writing import Written

_BATCH_BYTES = 8 * 1024 * 1024
_LINE_BYTES = 2 * 1024 * 1024


def once(owner: str, path: str, fingerprint: str, items: Sequence[generic.Given]) -> list[Written] | None:
    """One whole source in one transaction; None if it is in already."""
    with transaction.atomic():
        row, made = Import.objects.get_or_create(owner=owner, fingerprint=fingerprint, defaults={"path": path})
        if not made and row.done:
            return None
        written = generic.append(items)
        Import.objects.filter(pk=row.pk).update(done=True, items=len(items))
        return written


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What became of one line: created, already, or the code of its refusal."""

    line: int
    became: str
    event_id: str = ""
    problem: str = ""
    path: str = ""


@dataclass(slots=True, kw_only=True)
class Report:
    """An import as a whole; `refused` are the items that stopped it (or, checking, every one of them)."""

    fingerprint: str
    already_imported: bool = False
    resumed_at: int = 0
    created: int = 0
    already: int = 0
    refused: list[Item] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Batch:
    lines: list[tuple[int, bytes]]
    end: int  # the byte after its last line


def load(
    path: Path,
    owner: str,
    *,
    check: bool = False,
    progress: Callable[[int], object] = lambda _position: None,
    tell: Callable[[Item], object] = lambda _item: None,
) -> Report:
    """Imports a file of JSON lines for `owner`; goes on where an earlier try stopped. `check` writes nothing.

    `progress` is told how many bytes of the file are behind, `tell` what became of each item.
    """
    with path.open("rb") as file:
        fingerprint = f"sha256:{file_digest(file, 'sha256').hexdigest()}"
        row = Import.objects.filter(owner=owner, fingerprint=fingerprint).first()
        report = Report(fingerprint=fingerprint)
        if row is not None and row.done:
            report.already_imported = True
            return report
        if row is None:
            row = Import(owner=owner, fingerprint=fingerprint, path=str(path))
            if not check:
                row.save()
        report.resumed_at = row.items
        progress(row.position)
        place = generic.Place(owner=owner, source="import")
        for batch in _batches(file, row.position, row.items):
            _one(row, batch, place, report, tell, check=check)
            if report.refused and not check:
                return report
            row.position, row.items = batch.end, batch.lines[-1][0]
            progress(batch.end)
        if not check:
            Import.objects.filter(pk=row.pk).update(done=True)
        return report


def _batches(file: BinaryIO, position: int, line: int) -> Iterator[_Batch]:
    file.seek(position)
    lines: list[tuple[int, bytes]] = []
    size = 0
    while data := file.readline(_LINE_BYTES + 1):
        line += 1
        lines.append((line, data))
        size += len(data)
        if len(lines) == generic.MAX_BATCH or size >= _BATCH_BYTES:
            yield _Batch(lines, file.tell())
            lines, size = [], 0
    if lines:
        yield _Batch(lines, file.tell())


def _one(
    row: Import, batch: _Batch, place: generic.Place, report: Report, tell: Callable[[Item], object], *, check: bool
) -> None:
    """One batch: read, written with the new resume offset in one transaction, told item by item."""
    items: list[generic.Given] = []
    refused = []
    for line, data in batch.lines:
        try:
            items.append(_read(line, data, place))
        except ForgeError as error:
            refused.append(_refusal(line, error))
    written: list[Written] = []
    if not refused and not check:
        try:
            with transaction.atomic():
                written = generic.append(items)
                failpoints.reach("ledger.import")
                Import.objects.filter(pk=row.pk).update(position=batch.end, items=batch.lines[-1][0])
        except ForgeError as error:
            place_of = error.facts.get("path", "").split("/")
            refused.append(_refusal(int(place_of[1]) if place_of[1:] and place_of[1].isdigit() else 0, error))
    for item in refused:
        tell(item)
    report.refused += refused
    for (line, _), one in zip(batch.lines, written, strict=False):
        tell(Item(line=line, became="created" if one.created else "already", event_id=one.event_id))
    report.created += sum(one.created for one in written)
    report.already += sum(not one.created for one in written)


def _read(line: int, data: bytes, place: generic.Place) -> generic.Given:
    if len(data) > _LINE_BYTES:
        raise TooLarge(f"a line may have {_LINE_BYTES} bytes", limit=_LINE_BYTES, path=f"/{line}")
    body: Any = strict_json.loads(data, nul=True)
    return generic.parse(body, place, f"/{line}")


def _refusal(line: int, error: ForgeError) -> Item:
    facts = error.facts
    return Item(
        line=line,
        became="refused",
        problem=f"{error.code} {facts.get('scan', '')} {error.message}".replace("  ", " "),
        event_id=str(facts.get("event_id", "")),
        path="/".join(str(facts.get("path", "")).split("/")[2:]),
    )
