"""Retention of what observers were told: deliveries that arrived, signals that were acknowledged, once they are old.

What nobody has acknowledged stays, and so does what no webhook took: somebody still has to see it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from executions.outbox.models import Delivery, DeliveryState, Signal
from forge_project.kernel import clock, failpoints
from forge_project.ledger import governance

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """What ended before `before` goes; by whom and why."""

    before: datetime
    actor: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """How many rows of each."""

    deliveries: int
    signals: int


def due(asked: Forget) -> Forgotten:
    """What `forget` would remove."""
    arrived = _arrived(asked)
    told = _told(asked, kept=Delivery.objects.exclude(pk__in=arrived.values("pk")))
    return Forgotten(deliveries=arrived.count(), signals=told.count())


def forget(asked: Forget, progress: Callable[[int], object] = lambda _rows: None) -> Forgotten:
    """Removes them a thousand at a time, each in one transaction with its fact in `forge:governance`."""
    deliveries = _each(_arrived(asked), "deliveries.purged", asked, progress)  # first: they hold their signals
    signals = _each(_told(asked, kept=Delivery.objects.all()), "signals.purged", asked, progress)
    return Forgotten(deliveries=deliveries, signals=signals)


def _arrived(asked: Forget) -> QuerySet[Delivery]:
    return Delivery.objects.filter(state=DeliveryState.DELIVERED, ended_at__lt=asked.before)


def _told(asked: Forget, *, kept: QuerySet[Delivery]) -> QuerySet[Signal]:
    """Those acknowledged long ago that no delivery of `kept` tells of."""
    rows = Signal.objects.filter(acknowledged_at__lt=asked.before)
    return rows.exclude(Exists(kept.filter(signal=OuterRef("pk"))))


def _each(
    rows: QuerySet[Delivery] | QuerySet[Signal], fact: str, asked: Forget, progress: Callable[[int], object]
) -> int:
    count = 0
    oldest = rows.order_by("pk").values_list("pk", flat=True)
    while some := [str(pk) for pk in oldest[:_AT_ONCE]]:
        with transaction.atomic():
            gone = rows.filter(pk__in=some)._raw_delete("default")  # by its conditions still: no cascade is wanted
            failpoints.reach("outbox.purge")
            if gone:
                before = clock.text(asked.before)
                governance.record(fact, actor=asked.actor, rows=gone, before=before, reason=asked.reason)
        count += gone
        progress(gone)
        if not gone:  # another purge was first
            break
    return count
