"""Chooses what runs next. The rows are the queue; a hint only says *look*."""

import logging
from datetime import datetime

from django.conf import settings
from django.db.models import F, Min, OuterRef, Q, Subquery, Window
from django.db.models.functions import RowNumber

from executions.bounds import CallerLoad
from executions.models import Attempt, Execution, Workspace
from executions.selectors import holds
from executions.services.runtime import Runtime
from executions.states import Kind, Status
from executions.transitions import Lease, move
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import Conflict, Missing
from forge_project.ledger import restoring
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing

log = logging.getLogger("forge.claim")
_CANDIDATES = 20


def claim_next(runtime: Runtime) -> Lease | None:
    """A lease on what may run here now, or None: the caller's turn who was served longest ago, and its oldest.

    Losing a race is normal: the next is tried.

    The ref is taken in `runtime` before it is claimed: reconcile never meets a row of ours that nobody drives yet.
    """
    if restoring.behind():
        log.error("the database is older than its checkpoints' sink: `manage.py restored` before anything runs")
        return None
    if not runtime.fresh():
        return None  # others may take it for dead: nothing it began could be finished
    for ref, caller_id in _candidates(runtime):
        if not runtime.take(ref, caller_id):
            continue
        try:
            lease = _claim(ref, runtime)
            failpoints.reach("claim.after")
        except (Conflict, Missing):
            runtime.let_go(ref)
            continue
        except BaseException:
            runtime.let_go(ref)
            raise
        return lease
    return None


def _candidates(runtime: Runtime) -> list[tuple[str, int]]:
    busy = CallerLoad.objects.filter(running__gte=settings.FORGE_CALLER_RUNNING).values("pk")
    rows = Execution.objects.filter(status=Status.QUEUED).exclude(caller__in=busy)
    rows = rows.exclude(caller__in=runtime.filled_by(max(1, settings.FORGE_WORKER_THREADS // 2)))
    rows = rows.filter(Q(due_at=None) | Q(due_at__lte=clock.now()))
    rows = rows.filter(Q(workspace=None) | Q(workspace__in=served_here()), quarantined="")
    rows = holds.free(rows)
    served = CallerLoad.objects.filter(pk=OuterRef("caller")).values("served_at")
    place = Window(RowNumber(), partition_by="caller", order_by=["created_at", "ref"])
    turns = rows.annotate(place=place, served=Subquery(served))
    turns = turns.order_by("place", F("served").asc(nulls_first=True), "created_at", "ref")
    return list(turns.values_list("ref", "caller")[:_CANDIDATES])


def seconds_to_due() -> float:
    """Until the next execution that was put off is due; the sweep's own pace at the most."""
    put_off = Execution.objects.filter(status=Status.QUEUED, due_at__gt=clock.now(), quarantined="")
    first = put_off.aggregate(first=Min("due_at"))["first"]
    pace = float(settings.FORGE_SWEEP_SECONDS)
    return pace if first is None else max(0.0, min(pace, (first - clock.now()).total_seconds()))


def served_here() -> list[int]:
    """The workspaces whose files this host has."""
    rows = Workspace.objects.values_list("pk", "hosts")
    return [pk for pk, hosts in rows if settings.FORGE_HOST_ID in hosts]


def _claim(ref: str, runtime: Runtime) -> Lease:
    with writing(ref, wait=False) as page:
        row = Execution.objects.get(pk=ref)
        number, now = row.attempt + 1, clock.now()
        event = fact("execution.claimed", attempt=number, worker=str(runtime.worker_id))
        first = {} if row.started_at else {"started_at": now}
        move(
            page,
            row,
            Status.RUNNING,
            event,
            lease=None,
            attempt=number,
            worker_id=runtime.worker_id,
            due_at=None,
            hold=None,
            **first,
        )
        _within_cap(row.caller_id, now)
        level = runtime.isolation if row.kind == Kind.SCRIPT else ""
        Attempt.objects.create(
            execution=row, number=number, worker_id=runtime.worker_id, started_at=now, isolation=level
        )
    return Lease(ref=ref, attempt=number, worker_id=runtime.worker_id)


def _within_cap(caller_id: int, now: datetime) -> None:
    """`move` has counted this one: over the cap, the whole claim is rolled back. Its turn has been."""
    load = CallerLoad.objects.filter(pk=caller_id, running__lte=settings.FORGE_CALLER_RUNNING)
    if load.update(running=F("running"), served_at=now) != 1:
        raise Conflict("this caller runs as much as it may", caller=caller_id)
