"""Looks again, ever more rarely, at effects nobody knew: what can be seen later settles them, and nothing is done.

That an effect is not there proves something only once nobody can be at it any more. A living worker alone knows what it
still runs: what it began is left to it to look at.
"""

import logging
from contextlib import nullcontext
from datetime import datetime, timedelta

from django.db import Error as DatabaseFault
from django.db.models import Max, Q

from executions.capabilities.base import Effect, Recovery, Unknown
from executions.errors import DeadlinePassed
from executions.models import Attempt, Call, Execution
from executions.services import after_unknown, catalog, settle, workers
from executions.services.claim import served_here
from executions.services.finish import LOOK_AGAIN_SECONDS
from executions.services.locks import workspace_lock
from executions.services.reconcile import Found
from executions.services.runtime import Runtime
from executions.states import CallStatus, Status
from forge_project.kernel import clock
from forge_project.kernel.sealing import SealBroken
from forge_project.ledger.writing import writing

log = logging.getLogger("forge.reconcile")
LONGEST = timedelta(hours=6)
PATIENCE = timedelta(seconds=60)  # past which a living worker is taken for one that does not look
_LOCK_SECONDS = 0.5
_CAN_BE_SEEN = (Recovery.RECONCILE, Recovery.REATTACH)


def reobserve_due(runtime: Runtime, limit: int = 20) -> list[Found]:
    """Looks at each unknown execution that is due; those that were settled, and as what. One bad row stops no other."""
    rows = Execution.objects.filter(status=Status.UNKNOWN, quarantined="", due_at__lte=clock.now())
    rows = rows.filter(Q(workspace=None) | Q(workspace__in=served_here())).order_by("due_at")
    found = [_one(ref, due, runtime) for ref, due in list(rows.values_list("ref", "due_at")[:limit]) if due is not None]
    return [one for one in found if one is not None]


def _one(ref: str, due: datetime, runtime: Runtime) -> Found | None:
    if _another_looks(ref, due, runtime) or not _mine(ref, due):
        return None
    try:
        execution = Execution.objects.select_related("workspace", "caller").get(pk=ref)
        seen = _look(execution, runtime)
        became = _write(ref, seen) if seen else Status.UNKNOWN
    except (DatabaseFault, OSError, DeadlinePassed, SealBroken) as error:
        log.warning("not looked at now: %s: %s", ref, type(error).__name__)
        return None
    except Exception as error:
        log.error("not looked at: %s", ref, exc_info=error)
        return None
    for call, _ in seen:
        settle.discard(call, execution)
    return None if became == Status.UNKNOWN else Found(ref=ref, became=became.value)


def _another_looks(ref: str, due: datetime, runtime: Runtime) -> bool:
    if clock.now() - due > PATIENCE:
        return False
    numbers = Call.objects.filter(execution=ref, status=CallStatus.UNKNOWN).values("attempt")
    began = Attempt.objects.filter(execution=ref, number__in=numbers, ending="interrupted").select_related("worker")
    others = [one.worker for one in began if one.worker_id != runtime.worker_id]
    return any(not workers.proven_dead(one) and not workers.stale(one) for one in others)


def _mine(ref: str, due: datetime) -> bool:
    """Sets when it is looked at next, which is also how one of several lookers gets it.

    As long again as it has been unknown: the waits double.
    """
    unknown = Call.objects.filter(execution=ref, status=CallStatus.UNKNOWN, recovery_mode__in=_CAN_BE_SEEN)
    since = unknown.aggregate(last=Max("ended_at"))["last"]
    rows = Execution.objects.filter(pk=ref, status=Status.UNKNOWN, due_at=due)
    if since is None:  # a person alone can tell
        rows.update(due_at=None)
        return False
    wait = min(max(clock.now() - since, timedelta(seconds=LOOK_AGAIN_SECONDS)), LONGEST)
    return rows.update(due_at=clock.now() + wait) == 1


def _look(execution: Execution, runtime: Runtime) -> list[tuple[Call, settle.Observed]]:
    """What can be told of its unknown calls by now, outside any transaction."""
    unknown = Call.objects.filter(execution=execution, status=CallStatus.UNKNOWN, recovery_mode__in=_CAN_BE_SEEN)
    calls, place = list(unknown.order_by("n")), execution.workspace
    writes = place is not None and any(call.effect == Effect.WRITE for call in calls)
    with workspace_lock(place.name, clock.monotonic() + _LOCK_SECONDS) if place and writes else nullcontext():
        seen = [(call, _observe(call, execution, runtime)) for call in calls]
    return [(call, one) for call, one in seen if not isinstance(one.settled, Unknown)]


def _observe(call: Call, execution: Execution, runtime: Runtime) -> settle.Observed:
    certain = _over(call, execution, runtime)  # before the look: what ends after it may have happened after it
    seen = settle.observe(call, execution, catalog.find(call.tool))
    return seen if certain else settle.unproven(call, seen)


def _over(call: Call, execution: Execution, runtime: Runtime) -> bool:
    """Whether nobody can be at this call any more.

    An attempt that ended by itself has nothing under way; one that was taken away may, until its worker is dead, or is
    this one and runs nothing of it: an unknown execution has no lease, so nothing of it begins any more.
    """
    began = Attempt.objects.select_related("worker").get(execution=execution, number=call.attempt)
    if began.ending != "interrupted":
        return True
    if began.worker_id == runtime.worker_id:
        return not runtime.drives(execution.ref)
    return workers.proven_dead(began.worker)


def _write(ref: str, seen: list[tuple[Call, settle.Observed]]) -> Status:
    with writing(ref) as page:
        execution = Execution.objects.get(pk=ref)
        if execution.status != Status.UNKNOWN:
            return Status.UNKNOWN  # a person was first
        for call, observed in seen:
            call.refresh_from_db()
            if call.status == CallStatus.UNKNOWN:
                settle.write(page, call, call.attempt, observed, retry=False)
        return after_unknown.go_on(page, execution)
