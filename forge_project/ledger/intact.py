"""One invocation's whole family, read for somebody who is going to act on it: held against its hashes as it is read."""

import json
from collections.abc import Iterator
from typing import Any

from forge_project.kernel import hot
from forge_project.ledger.errors import LedgerCorrupt
from forge_project.ledger.models import Event, Invocation
from forge_project.ledger.verify import verify
from forge_project.ledger.walk import EVENT, INVOCATION, Before, Finding, Walk

_PAGE = 2000
_TEXT = EVENT.index("payload")


def payloads(invocation_id: str) -> list[dict[str, Any]]:
    """What each event says, in order; LedgerCorrupt with the first fault. Two short reads, where `verify` has many."""
    told: list[dict[str, Any]] = []
    before: Before | None = None
    for row in _family(invocation_id):
        walk = Walk(row, before)
        for page in _pages(row[0]):
            for event in page:
                walk.step(event)
                if walk.findings:
                    raise _corrupt(walk.findings[0])
                told.append(json.loads(event[_TEXT]))
        if walk.finish():  # or somebody appended between our reads: `verify` looks again under the lock
            for found in verify(invocation_id).findings:
                raise _corrupt(found)
        named = dict(zip(INVOCATION, row, strict=True))
        identity = tuple(named[name] for name in ("session_id", "run_id", "turn_id", "owner"))
        before = Before(identity=identity, head_hash=named["head_hash"], sealed=bool(named["sealed_at"]))
    return told


def _family(invocation_id: str) -> list[tuple[Any, ...]]:
    first = hot.values(Invocation, (*INVOCATION, "successors"), {"id": invocation_id})
    if not first:
        raise _corrupt(Finding(invocation=invocation_id, seq=0, problem="invocation_missing"))
    *row, successors = first[0]
    later = tuple(f"{invocation_id}~{k}" for k in range(1, successors + 1))
    found = hot.values(Invocation, tuple(INVOCATION), {"id": later}) if later else []
    rows = {one[0]: one for one in found}
    return [tuple(row), *(rows[ref] for ref in later if ref in rows)]


def _pages(invocation_id: str) -> Iterator[list[tuple[Any, ...]]]:
    last = 0
    while True:
        after = {"invocation_id": invocation_id, "seq": hot.Above(last)}
        page = hot.values(Event, tuple(EVENT), after, order="seq", limit=_PAGE)
        yield page
        if len(page) < _PAGE:
            return
        last = page[-1][0]


def _corrupt(found: Finding) -> LedgerCorrupt:
    said = "what is stored is not what was written"
    return LedgerCorrupt(said, invocation=found.invocation, seq=found.seq, problem=found.problem)
