"""One stored event as evidence: its JSON, and whether text, place and columns are as they were hashed."""

from collections.abc import Sequence
from typing import Any, Protocol

from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid
from forge_project.ledger.events import Identity, chain, kind_of
from forge_project.ledger.models import Event, Invocation


class Stored(Protocol):
    """The columns of an event, however they were read."""

    invocation_id: str
    seq: int
    event_id: str
    kind: str
    source: str
    operation_id: str
    payload: str
    committed_at: str
    prev_hash: str
    hash: str


def read(row: Stored) -> dict[str, Any] | None:
    """The event's JSON; None only where someone has changed the text."""
    try:
        return dict(strict_json.loads(row.payload, nul=True))
    except (Invalid, TypeError, ValueError):
        return None


def holds(row: Stored, payload: dict[str, Any] | None) -> bool:
    """Whether this event by itself is as it was hashed; its link to the one before is the reader's to check."""
    place = (row.prev_hash, row.invocation_id, row.seq, row.event_id, row.source, row.committed_at)
    if payload is None or chain(*place, row.payload) != row.hash:
        return False
    operation = (payload.get("refs") or {}).get("operation_id", "")
    columns = (payload.get("event_id"), payload.get("invocation_id"), kind_of(payload), operation)
    return columns == (row.event_id, row.invocation_id, row.kind, row.operation_id)


def shown(row: Stored, payload: dict[str, Any] | None, *, verified: bool) -> dict[str, Any]:
    """The event as every reader is shown it."""
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


def hash_before(invocation_id: str, seq: int) -> str:
    """What the prev_hash of event `seq` has to be: of the event before, the identity's, or the sealed one's head."""
    earlier = Event.objects.filter(invocation_id=invocation_id, seq=seq - 1).values_list("hash", flat=True).first()
    if earlier is not None:
        return earlier
    home = Invocation.objects.filter(pk=invocation_id).first()
    if seq != 1 or home is None:
        return ""
    if home.follows:
        return Invocation.objects.filter(pk=home.follows).values_list("head_hash", flat=True).first() or ""
    return identity_of(home).genesis()


def identity_of(row: Invocation) -> Identity:
    """An invocation's identity."""
    return Identity(
        invocation_id=row.pk, session_id=row.session_id, run_id=row.run_id, turn_id=row.turn_id, owner=row.owner
    )


def chained(rows: Sequence[Stored]) -> list[dict[str, Any]]:
    """Consecutive events of a family, in order, each with whether its hash, columns and link hold."""
    told: list[dict[str, Any]] = []
    before, last = "", ""
    for row in rows:
        if row.invocation_id != last:
            before, last = hash_before(row.invocation_id, row.seq), row.invocation_id
        payload = read(row)
        told.append(shown(row, payload, verified=row.prev_hash == before and holds(row, payload)))
        before = row.hash
    return told
