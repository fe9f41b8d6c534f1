"""Reads of the ledger."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forge_project.kernel import strict_json
from forge_project.ledger.models import Event, Invocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The head of a chain: quoting it later proves what the ledger held."""

    head: str
    seq: int


def receipt(invocation_id: str) -> Receipt | None:
    """The invocation's head, or None if there is no such invocation."""
    found = Invocation.objects.filter(pk=invocation_id).values_list("head_hash", "head_seq").first()
    return Receipt(head=found[0], seq=found[1]) if found else None


def family(invocation_id: str) -> list[str]:
    """The ids of an invocation and its successors, in order; just the id where there is no such invocation."""
    found = Invocation.objects.filter(pk=invocation_id).first()
    return found.family if found else [invocation_id]


def payload(event: Event) -> dict[str, Any]:
    """An event's stored JSON."""
    return dict(strict_json.loads(event.payload, nul=True))


def events(invocation_id: str, *, kind: str | None = None, after: int = 0) -> Iterator[Event]:
    """An invocation's events in order, those after seq `after`, of one kind where given; read in pages."""
    rows = Event.objects.filter(invocation_id=invocation_id, seq__gt=after).order_by("seq")
    yield from (rows if kind is None else rows.filter(kind=kind)).iterator(chunk_size=500)


def family_events(invocation_id: str) -> Iterator[Event]:
    """The events of an invocation and of what follows it, in the order they were committed; read in pages."""
    rows = Event.objects.filter(invocation_id__in=family(invocation_id)).order_by("id")
    yield from rows.iterator(chunk_size=500)
