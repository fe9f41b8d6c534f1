"""Chooses what runs next. The rows are the queue; a hint only says *look*."""

import logging
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Min

from executions.bounds import CallerLoad
from executions.models import Attempt, Execution, Workspace
from executions.services.runtime import Runtime
from executions.states import Kind, Status
from executions.transitions import Lease, move
from forge_project.kernel import clock, failpoints, hot, plain
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


# Asked at every wake-up, and far dearer to build by the ORM than to run.
_TURNS = """SELECT ref, caller_id FROM (
    SELECT e.ref, e.caller_id, e.created_at, l.served_at,
        row_number() OVER (PARTITION BY e.caller_id ORDER BY e.created_at, e.ref) AS place
    FROM executions_execution e
    LEFT JOIN executions_callerload l ON l.caller_id = e.caller_id
    LEFT JOIN executions_workspace w ON w.id = e.workspace_id
    WHERE e.status = 'queued' AND e.quarantined = '' AND (e.due_at IS NULL OR e.due_at <= %s)
        AND COALESCE(l.running, 0) < %s AND {served} AND {unfilled}
        AND NOT EXISTS (SELECT 1 FROM executions_hold h WHERE h.released_at IS NULL AND (h.kind = 'everything'
            OR (h.kind = 'caller' AND e.caller_ref = 'user:' || h.target)
            OR (h.kind = 'workspace' AND h.target = w.name)
            OR (h.kind = 'capability' AND (h.target = e.capability OR h.id = e.hold_id))))) turns
    ORDER BY place, served_at NULLS FIRST, created_at, ref LIMIT %s"""
_SERVED = {
    "postgresql": "(w.id IS NULL OR w.hosts @> to_jsonb(%s::text))",
    "sqlite": "(w.id IS NULL OR EXISTS (SELECT 1 FROM json_each(w.hosts) WHERE value = %s))",
}


def _candidates(runtime: Runtime) -> list[tuple[str, int]]:
    """(ref, caller) of what may run here, in the order of turns; holds as in selectors/holds."""
    filled = runtime.filled_by(max(1, settings.FORGE_WORKER_THREADS // 2))
    unfilled = f"e.caller_id NOT IN ({', '.join(['%s'] * len(filled))})" if filled else "TRUE"
    text = _TURNS.format(served=_SERVED[connection.vendor], unfilled=unfilled)
    now = connection.ops.adapt_datetimefield_value(clock.now())
    given = [now, settings.FORGE_CALLER_RUNNING, settings.FORGE_HOST_ID, *filled, _CANDIDATES]
    return [(ref, caller) for ref, caller in plain.rows(text, given)]


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
        row = hot.one(Execution, {"ref": ref})
        if row is None:
            raise Missing("no such execution", execution=ref)
        number, now = row.attempt + 1, clock.now()
        event = fact("execution.claimed", attempt=number, worker=str(runtime.worker_id))
        first: dict[str, Any] = {} if row.started_at else {"started_at": now}
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
        made = Attempt(execution=row, number=number, worker_id=runtime.worker_id, started_at=now, isolation=level)
        hot.insert(made)
    return Lease(ref=ref, attempt=number, worker_id=runtime.worker_id)


def _within_cap(caller_id: int, now: datetime) -> None:
    """`move` has counted this one: over the cap, the whole claim is rolled back. Its turn has been."""
    within = {"caller_id": caller_id, "running": hot.AtMost(settings.FORGE_CALLER_RUNNING)}
    if hot.update(CallerLoad, within, {"served_at": now}) != 1:
        raise Conflict("this caller runs as much as it may", caller=caller_id)
