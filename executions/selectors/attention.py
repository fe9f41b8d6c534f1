"""What needs a person of the operators, and how much of everything there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Q, QuerySet

from executions.models import Execution
from executions.outbox.models import Delivery, DeliveryState
from executions.states import LIVE, TERMINAL, Status
from forge_project.kernel import clock

SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One reason to look: its name, what to do, how many, the oldest of them."""

    name: str
    advice: str
    count: int
    rows: Sequence[Execution]


def concerns() -> list[Concern]:
    """Every reason there is, those without a case too."""
    return [_concern(name, advice, rows) for name, advice, rows in _reasons()]


def count() -> int:
    """How many executions need somebody."""
    wanted = Q()
    for _, _, condition in _conditions():
        wanted |= condition
    return Execution.objects.filter(wanted).count()


def by_status() -> list[tuple[str, str, int]]:
    """(status, its label, how many) of everything that has not ended."""
    counted = dict(
        Execution.objects.filter(status__in=[*LIVE, Status.UNKNOWN]).values_list("status").annotate(Count("pk"))
    )
    return [(str(status), str(status.label), counted.get(status, 0)) for status in [*LIVE, Status.UNKNOWN]]


def _conditions() -> list[tuple[str, str, Q]]:
    silent = clock.now() - timedelta(seconds=2 * settings.FORGE_LEASE_SECONDS)
    return [
        ("Unknown effect", "look at the world, then say which it was: nothing is retried by itself",
         Q(status=Status.UNKNOWN)),
        ("Quarantined", "see why; once that is mended (a key is back), `reconcile --quarantined`",
         ~Q(quarantined="") & ~Q(status__in=TERMINAL)),
        ("Guest not known to be dead", "end the process on its host, then reconcile", Q(termination_unconfirmed=True)),
        ("Signal that no webhook took", "see what its receiver answers, then try its delivery again",
         Q(pk__in=Delivery.objects.filter(state=DeliveryState.DEAD).values("signal__execution"))),
        ("Worker gone silent", "see whether its host lives; `reconcile --worker-dead` says that it does not",
         Q(status__in=[Status.RUNNING, Status.STOPPING], worker__heartbeat__lt=silent)),
    ]  # fmt: skip


def _reasons() -> list[tuple[str, str, QuerySet[Execution]]]:
    rows = Execution.objects.select_related("caller", "worker").order_by("updated_at", "ref")
    return [(name, advice, rows.filter(condition)) for name, advice, condition in _conditions()]


def _concern(name: str, advice: str, rows: QuerySet[Execution]) -> Concern:
    return Concern(name=name, advice=advice, count=rows.count(), rows=list(rows[:SHOWN]))
