"""An execution's events as evidence: each with whether its hash and its link hold."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from forge_project.kernel.errors import Invalid
from forge_project.ledger import selectors as ledger
from forge_project.ledger.events import Identity, chain, kind_of
from forge_project.ledger.models import Event, Invocation


def of(ref: str) -> QuerySet[Event]:
    """All events of the execution's chain."""
    return Event.objects.filter(invocation_id=ref)


def as_json(ref: str, rows: Sequence[Event]) -> list[dict[str, Any]]:
    """Consecutive events, in order, as the API shows them."""
    if not rows:
        return []
    before = _hash_before(ref, rows[0].seq)
    told = []
    for row in rows:
        payload = _payload(row)
        told.append(_shown(row, payload, verified=row.prev_hash == before and _holds(row, payload)))
        before = row.hash
    return told


def _hash_before(ref: str, seq: int) -> str:
    earlier = of(ref).filter(seq=seq - 1).values_list("hash", flat=True).first()
    if earlier is not None:
        return earlier
    home = Invocation.objects.get(pk=ref)
    identity = Identity(
        invocation_id=home.pk, session_id=home.session_id, run_id=home.run_id, turn_id=home.turn_id, owner=home.owner
    )
    return identity.genesis() if seq == 1 else ""


def _payload(row: Event) -> dict[str, Any] | None:
    try:
        return ledger.payload(row)
    except (Invalid, TypeError, ValueError):  # only text that someone has changed
        return None


def _holds(row: Event, payload: dict[str, Any] | None) -> bool:
    """Whether text, place and columns of this event are as they were hashed."""
    place = (row.prev_hash, row.invocation_id, row.seq, row.event_id, row.source, row.committed_at)
    if payload is None or chain(*place, row.payload) != row.hash:
        return False
    operation = (payload.get("refs") or {}).get("operation_id", "")
    return (payload.get("event_id"), kind_of(payload), operation) == (row.event_id, row.kind, row.operation_id)


def _shown(row: Event, payload: dict[str, Any] | None, *, verified: bool) -> dict[str, Any]:
    told = {
        "event_id": row.event_id,
        "seq": row.seq,
        "kind": row.kind,
        "source": row.source,
        "committed_at": row.committed_at,
        "prev_hash": row.prev_hash,
        "hash": row.hash,
        "verified": verified,
        "payload": payload,
    }
    return told | ({"operation_id": row.operation_id} if row.operation_id else {})
