"""An execution's events as evidence: each with whether its hash and its link hold."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from forge_project.ledger import evidence, selectors
from forge_project.ledger.models import Event


def of(ref: str) -> QuerySet[Event]:
    """All events of the execution's family: its own chain, and what had to be recorded after it was sealed."""
    return Event.objects.filter(invocation_id__in=selectors.family(ref))


def as_json(rows: Sequence[Event]) -> list[dict[str, Any]]:
    """Consecutive events, in order, as the API shows them."""
    return evidence.chained(rows)
