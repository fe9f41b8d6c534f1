"""The figures that live in the database, read from it at each scrape: right whatever process died since."""

import logging
from collections.abc import Callable, Iterable, Iterator

from django.db import Error as DatabaseFault
from django.db.models import Count, DurationField, ExpressionWrapper, F, Min, Sum
from django.utils.timezone import now
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from approvals.models import Approval
from approvals.states import State
from executions.bounds import CallerRefused
from executions.models import Attempt, Execution, Worker
from executions.outbox.models import Delivery, DeliveryState, Signal
from executions.services.places import CAPS
from executions.services.runtime import release_connections
from executions.states import LIVE, Kind, Status

log = logging.getLogger("forge.metrics")
_OPEN = (*LIVE, Status.UNKNOWN)


def executions() -> Iterator[Metric]:
    """What is queued, runs, waits, is unknown; how old the queue is."""
    found = dict(Execution.objects.filter(status__in=_OPEN).values_list("status").annotate(n=Count("pk")))
    told = GaugeMetricFamily("forge_executions", "Unfinished executions by status.", labels=["status"])
    for status in _OPEN:
        told.add_metric([status.value], found.get(status.value, 0))
    yield told
    oldest = Execution.objects.filter(status=Status.QUEUED).aggregate(at=Min("created_at"))["at"]
    age = max(0.0, (now() - oldest).total_seconds()) if oldest else 0.0
    yield GaugeMetricFamily("forge_queue_oldest_seconds", "Age of the oldest queued execution.", age)
    quarantined = Execution.objects.filter(status__in=_OPEN).exclude(quarantined="").count()
    yield GaugeMetricFamily("forge_quarantined", "Executions that reconcile had to put aside.", quarantined)


def refusals() -> Iterator[Metric]:
    """Requests over a cap of their caller's, by the cap: the queue's length, the day's bytes, all bytes."""
    found = dict(CallerRefused.objects.values_list("rule").annotate(n=Sum("times")))
    told = CounterMetricFamily("forge_queue_refused", "Requests over a caller's cap, by the cap.", labels=["rule"])
    for rule in CAPS:
        told.add_metric([rule], found.get(rule, 0))
    yield told


def endings() -> Iterator[Metric]:
    """How attempts ended, and with which code finished scripts' guests did."""
    told = CounterMetricFamily("forge_attempts", "Ended attempts by how they ended.", labels=["ending"])
    for ending, count in Attempt.objects.exclude(ending="").values_list("ending").annotate(n=Count("pk")):
        told.add_metric([ending], count)
    yield told
    guests = CounterMetricFamily("forge_guest_endings", "Finished scripts by error code (ok: none).", labels=["code"])
    rows = Execution.objects.filter(kind=Kind.SCRIPT, finished_at__isnull=False)
    for code, count in rows.values_list("error_code").annotate(n=Count("pk")):
        guests.add_metric([code or "ok"], count)
    yield guests


def recovery() -> Iterator[Metric]:
    """Leases whose worker died, and how long after its last sign of life what it ran was settled."""
    lost = Attempt.objects.filter(ending="interrupted", ended_at__isnull=False)
    took = ExpressionWrapper(F("ended_at") - F("worker__heartbeat"), output_field=DurationField())
    found = lost.annotate(took=took).aggregate(n=Count("pk"), total=Sum("took"))
    seconds = found["total"].total_seconds() if found["total"] else 0.0
    yield CounterMetricFamily("forge_lease_expiries", "Attempts whose worker was gone.", found["n"])
    told = "From a worker's last heartbeat to the settlement of what it ran."
    yield SummaryMetricFamily("forge_reconcile_seconds", told, count_value=found["n"], sum_value=max(0.0, seconds))
    alive = Worker.objects.filter(stopped_at=None).count()
    yield GaugeMetricFamily("forge_workers", "Workers that have not said goodbye.", alive)


def people() -> Iterator[Metric]:
    """Approvals by state; what observers have not been told."""
    found = dict(Approval.objects.values_list("state").annotate(n=Count("pk")))
    told = GaugeMetricFamily("forge_approvals", "Approvals by state.", labels=["state"])
    for state in State:
        told.add_metric([state.value], found.get(state.value, 0))
    yield told
    unread = Signal.objects.filter(acknowledged_at=None).count()
    yield GaugeMetricFamily("forge_signals_unacknowledged", "Signals nobody has acknowledged.", unread)
    sent = dict(Delivery.objects.values_list("state").annotate(n=Count("pk")))
    deliveries = GaugeMetricFamily("forge_deliveries", "Deliveries to webhooks by state.", labels=["state"])
    for one in DeliveryState:
        deliveries.add_metric([one.value], sent.get(one.value, 0))
    yield deliveries


_PARTS: tuple[Callable[[], Iterable[Metric]], ...] = (executions, refusals, endings, recovery, people)


class Database(Collector):
    """Every part; without the database, `forge_database_up 0` and nothing else."""

    def collect(self) -> Iterable[Metric]:
        """Called once a scrape."""
        up, found = 1, []
        try:
            found = [metric for part in _PARTS for metric in part()]
        except DatabaseFault as error:
            log.warning("no figures: %s", type(error).__name__)
            up = 0
        finally:
            release_connections()
        yield GaugeMetricFamily("forge_database_up", "Whether the figures could be read.", up)
        yield from found


def registry(latencies: str) -> CollectorRegistry:
    """The database's figures, and the request latencies that web processes keep in the directory `latencies`."""
    made = CollectorRegistry()
    made.register(Database())
    if latencies:
        MultiProcessCollector(made, latencies)  # type: ignore[no-untyped-call]
    return made
