"""Holds the ledger against what was signed before: its checkpoints, a sink's file, receipts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from forge_project.ledger import signing, sink
from forge_project.ledger.models import Checkpoint, Event, Invocation
from forge_project.ledger.sink import Receipt, Signed
from forge_project.ledger.tombstones import Removed
from forge_project.ledger.walk import Finding

CHAIN = "forge:checkpoints"  # the "invocation" of a finding about the checkpoints themselves; seq = the number
_HEADS_A_TIME = 500
Head = tuple[str, int, str]


@dataclass(slots=True)
class _Chain:
    """The chain of checkpoints as it is read: from the database, or from a file."""

    findings: list[Finding]
    where: str
    number: int = 0
    digest: str = ""
    waived: list[tuple[int, int]] = field(default_factory=list)  # lost in a restore, and signed for
    digests: dict[int, str] = field(default_factory=dict)

    def take(self, line: Signed) -> list[Head] | None:
        """Its heads if it is in its place and truly signed; None otherwise (or for an exact repeat)."""
        body = line.body()
        number, restored = body["checkpoint"], body.get("restored") or {}
        if self.digests.get(number) == line.digest:
            return None
        if not signing.holds(line.payload, line.signature, line.key_id):
            self._find(number, "forged_checkpoint")
            return None
        lost = restored.get("from") == self.number and restored.get("to") == number - 1
        if number != self.number + 1 and not lost:
            self._find(self.number + 1, "checkpoint_missing")
        elif body["prev"] != self.digest and not lost:
            self._find(number, "checkpoint_broken_link")
        if restored:
            self.waived.append((int(restored["from"]), int(restored["to"])))
        self.number, self.digest = number, line.digest
        self.digests[number] = line.digest
        return [(str(ref), int(seq), str(head)) for ref, seq, head in body["heads"]]

    def _find(self, number: int, problem: str) -> None:
        self.findings.append(Finding(invocation=CHAIN, seq=number, problem=problem, detail=self.where))


def check(findings: list[Finding], removed: dict[str, Removed], against: Path | None) -> int:
    """Adds what it finds; how many checkpoints were seen."""
    ours = _Chain(findings, "in the database")
    found = set(findings)
    for finding in _differ(_stored(ours), removed):
        if finding not in found:
            found.add(finding)
            findings.append(finding)
    if against is None:
        return len(ours.digests)
    theirs = _Chain(findings, f"in {against.name}")
    for finding in _differ(_elsewhere(against, theirs, ours), removed):
        if finding not in found:
            found.add(finding)
            findings.append(finding)
    for number in sorted(set(theirs.digests) - set(ours.digests)):
        since = Checkpoint.objects.filter(pk=number, digest=theirs.digests[number]).exists()  # written while we read
        if not since and not any(low < number <= high for low, high in ours.waived):
            findings.append(
                Finding(invocation=CHAIN, seq=number, problem="checkpoint_missing", detail="the database is older")
            )
    return len(ours.digests)


def _stored(chain: _Chain) -> Iterator[Head]:
    for row in Checkpoint.objects.order_by("number").iterator(chunk_size=20):
        line = Signed(payload=row.payload, signature=row.signature, key_id=row.key_id)
        try:
            placed = line.body()["checkpoint"] == row.number and line.digest == row.digest
            heads = chain.take(line) if placed else None
        except (ValueError, TypeError, KeyError):
            placed, heads = False, None
        if not placed:
            chain.findings.append(Finding(invocation=CHAIN, seq=row.number, problem="checkpoint_edited"))
        yield from heads or []


def _elsewhere(path: Path, theirs: _Chain, ours: _Chain) -> Iterator[Head]:
    """The heads of the file that the database's own checkpoints don't vouch for already."""
    for line in sink.read(path):
        if isinstance(line, Receipt):
            yield (line.invocation, line.seq, line.head)
            continue
        heads = theirs.take(line)
        number = line.body()["checkpoint"]
        same = ours.digests.get(number) == line.digest
        lost = any(low < number <= high for low, high in ours.waived)
        if heads and not same and not lost:
            yield from heads


def _differ(heads: Iterable[Head], removed: dict[str, Removed]) -> Iterator[Finding]:
    """What the events are not, that a head says they were."""
    stream = iter(heads)
    while part := list(islice(stream, _HEADS_A_TIME)):
        refs = {ref for ref, _, _ in part}
        at = dict(Invocation.objects.filter(pk__in=refs).values_list("pk", "head_seq"))
        rows = Event.objects.filter(invocation_id__in=refs, seq__in={seq for _, seq, _ in part})
        there = {(ref, seq): digest for ref, seq, digest in rows.values_list("invocation_id", "seq", "hash")}
        for ref, seq, head in part:
            gone = removed.get(ref)
            if gone is not None and gone.head[0] >= seq:
                continue
            if ref not in at:
                yield Finding(invocation=ref, seq=0, problem="invocation_missing", detail="a checkpoint names it")
            elif at[ref] < seq:
                yield Finding(invocation=ref, seq=at[ref] + 1, problem="rolled_back", detail=f"it had {seq} events")
            elif there.get((ref, seq), head) != head:
                yield Finding(invocation=ref, seq=seq, problem="rewritten", detail="a checkpoint has another hash")
