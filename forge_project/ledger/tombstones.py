"""Retention: whole sealed families are removed, and a signed tombstone says what was there."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from forge_project.kernel import canonical, clock, failpoints
from forge_project.ledger import governance, signing
from forge_project.ledger.events import fact
from forge_project.ledger.models import Event, Invocation, Operation, Tombstone
from forge_project.ledger.walk import Finding
from forge_project.ledger.writing import locked

_IDS = ("session_id", "run_id", "turn_id", "owner")
_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What a tombstone in good standing vouches for."""

    head: tuple[int, str]


def standing(findings: list[Finding], invocation_id: str | None = None) -> dict[str, Removed]:
    """The tombstones whose signature and statement hold; each other one is a finding."""
    found: dict[str, Removed] = {}
    rows = Tombstone.objects.order_by("pk")
    rows = rows if invocation_id is None else rows.filter(pk=invocation_id)
    for row in rows.iterator(chunk_size=500):
        if not row.signature:
            findings.append(Finding(invocation=row.pk, seq=0, problem="unsigned_tombstone"))
            continue
        said = _said(row)
        if said is None:
            findings.append(Finding(invocation=row.pk, seq=0, problem="forged_tombstone"))
        else:
            found[row.pk] = Removed(head=(said["seq"], said["head"]))
    return found


def _said(row: Tombstone) -> dict[str, Any] | None:
    if not signing.holds(row.statement, row.signature, row.key_id):
        return None
    said = json.loads(row.statement)
    return dict(said) if said["tombstone"] == row.pk else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Which sealed families go: those last sealed before `before` (stored text of a time), and why."""

    before: str
    actor: str
    reason: str


def due(asked: Purge) -> Iterator[str]:
    """The first of each family that is sealed, old enough and wholly checkpointed."""
    last = ""
    while True:
        rows = Invocation.objects.filter(pk__gt=last, follows="", sealed_at__gt="", sealed_at__lt=asked.before)
        rows = rows.exclude(pk__in=Tombstone.objects.values("pk"))
        page = list(rows.order_by("pk")[:_PAGE])
        if not page:
            return
        for row in page:
            family = Invocation.objects.filter(pk__in=row.family)
            if all(_may_go(one, asked.before) for one in family):
                yield row.pk
        last = page[-1].pk


def _may_go(row: Invocation, before: str) -> bool:
    return "" < row.sealed_at < before and row.checkpointed_seq == row.head_seq


def purge(asked: Purge, progress: Callable[[str], object] = lambda _ref: None) -> int:
    """Removes every family that is due, each in one transaction; how many."""
    signer = signing.signer()
    count = 0
    for ref in due(asked):
        if _purge(ref, asked, signer):
            count += 1
            progress(ref)
    return count


def _purge(ref: str, asked: Purge, signer: signing.Signer) -> bool:
    """One family: tombstones, then the events, with a fact in `forge:governance`."""
    with transaction.atomic():
        locked(ref, wait=True)
        row = Invocation.objects.get(pk=ref)
        family = list(Invocation.objects.filter(pk__in=row.family).order_by("pk"))
        if not all(_may_go(one, asked.before) for one in family):
            return False  # it got a successor meanwhile
        for one in family:
            Tombstone.objects.create(**_signed(one, asked, signer))
        failpoints.reach("ledger.purge")
        refs = [one.pk for one in family]
        events = Event.objects.filter(invocation_id__in=refs)
        removed = events.count()
        events._raw_delete("default")  # one DELETE; the trigger looks at each row
        Operation.objects.filter(invocation_id__in=refs).delete()
        with governance.governing() as page:
            page.add(fact("ledger.purged", invocation=ref, events=removed, actor=asked.actor, reason=asked.reason))
    return True


def _signed(row: Invocation, asked: Purge, signer: signing.Signer) -> dict[str, Any]:
    said = {
        "tombstone": row.pk,
        "identity": [getattr(row, name) for name in _IDS],
        "seq": row.head_seq,
        "head": row.head_hash,
        "sealed_at": row.sealed_at,
        "removed_at": clock.text(clock.now()),
        "actor": asked.actor,
        "reason": asked.reason,
    }
    statement = canonical.text(said)
    signature = signer.sign(statement)
    return {"invocation_id": row.pk, "statement": statement, "signature": signature, "key_id": signer.key_id}
