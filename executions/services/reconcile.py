"""After a crash: finds executions whose worker is gone, looks at the world, and says what happened. Never repeats."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from executions.capabilities.base import Effect
from executions.errors import DeadlinePassed, LeaseLost, NotOurs
from executions.models import Attempt, Call, Execution, Worker
from executions.outbox import logged
from executions.services import catalog, processes, quarantine, settle, waiting, workers
from executions.services.after_unknown import end_of_request, interrupted
from executions.services.claim import served_here
from executions.services.finish import UNKNOWN_EFFECT, End, end_attempt, finish
from executions.services.locks import workspace_lock
from executions.services.runtime import Runtime
from executions.services.shapes import Fault
from executions.states import CallStatus, Interruption, Kind, Status
from executions.transitions import HOLDING, Lease, held, move
from forge_project.kernel import clock, failpoints
from forge_project.kernel.log.event import event
from forge_project.kernel.plain import OUTAGE
from forge_project.kernel.sealing import SealBroken
from forge_project.ledger.events import fact
from forge_project.ledger.writing import Page, writing

log = logging.getLogger("forge.reconcile")
_LOCK_SECONDS = 0.5  # a workspace in use is looked at by the next sweep
_OPEN = (CallStatus.REQUESTED, CallStatus.AWAITING_APPROVAL, CallStatus.PREPARED)
_BACK_OFF_SECONDS = (0, 1, 5, 15, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One execution that reconcile looked at, and what became of it (dry run: what was found)."""

    ref: str
    became: str


def reconcile(
    runtime: Runtime,
    *,
    dry_run: bool = False,
    quarantined: bool = False,
    progress: Callable[[int], object] | None = None,
) -> list[Found]:
    """Settles every execution whose lease is dead, one row at a time; a bad row is quarantined, the rest go on.

    `quarantined`: tries those again that an earlier look had to put aside.
    """
    found: list[Found] = []
    if quarantined and not dry_run:
        found += [Found(ref=ref, became="released") for ref in quarantine.release_readable()]
        aside = Execution.objects.filter(status__in=HOLDING).exclude(quarantined="")
        aside.exclude(quarantined__startswith=quarantine.SEALED).update(quarantined="")
    for ref in _abandoned(runtime, kill=not dry_run):
        if dry_run:
            found.append(Found(ref=ref, became="would be settled"))
        elif (became := _one(ref, runtime)) is not None:
            found.append(Found(ref=ref, became=became))
        if progress is not None:
            progress(1)
    return found


def _abandoned(runtime: Runtime, *, kill: bool) -> list[str]:
    """Rows held by dead workers, and rows this process owns but no thread of it drives."""
    rows = Execution.objects.filter(status__in=HOLDING, quarantined="").order_by("created_at")
    rows = rows.filter(Q(workspace=None) | Q(workspace__in=served_here()))  # elsewhere there is nothing to look at
    dead: dict[UUID | None, bool] = {}
    refs = []
    for ref, worker_id in rows.values_list("ref", "worker_id"):
        if worker_id == runtime.worker_id:
            mine = not runtime.drives(ref)
        else:
            if worker_id not in dead:
                owner = Worker.objects.get(pk=worker_id)
                dead[worker_id] = workers.liveness(owner, runtime, kill=kill) != "alive"
            mine = dead[worker_id]
        if mine:
            refs.append(ref)
    return refs


def _one(ref: str, runtime: Runtime) -> str | None:
    """Takes the row over, settles it, lets it go; None if another was first."""
    if not runtime.take(ref):
        return None
    try:
        lease, execution, proven = _take_over(ref, runtime)
        became = _settle(lease, execution, proven)
        event("reconcile", "recovery_reconciled", **logged.of(execution) | {"status": became})
        return became
    except (NotOurs, LeaseLost) as lost:
        log.info("another was first: %s: %s", ref, lost.message)
        return None
    except (*OUTAGE, OSError, DeadlinePassed) as error:
        # The trouble of the moment, not the row's: the next sweep looks again.
        log.warning("not settled now: %s: %s", ref, type(error).__name__)
        return None
    except SealBroken as broken:
        log.warning("quarantined: %s: %s", ref, broken.message)
        return _quarantine(ref, quarantine.reason(broken))
    except Exception as error:
        log.error("quarantined: %s", ref, exc_info=error)
        return _quarantine(ref, f"reconcile failed: {type(error).__name__}")
    finally:
        runtime.let_go(ref)


def _quarantine(ref: str, why: str) -> str:
    Execution.objects.filter(pk=ref).update(quarantined=why[:500])
    return "quarantined"


def _take_over(ref: str, runtime: Runtime) -> tuple[Lease, Execution, bool]:
    """From here on the old worker's writes fail, and another reconciler finds a living owner.

    Also whether the old worker is proven dead: one that is only silent, elsewhere, may still be at its effect.
    """
    with writing(ref) as page:
        execution = Execution.objects.get(pk=ref)
        owner = execution.worker_id
        if execution.status not in HOLDING or owner is None:
            raise NotOurs("it has moved on", execution=ref)
        # Who began the attempt: the owner may be another reconciler, dead in the middle of this.
        began = Attempt.objects.values_list("worker_id", flat=True).get(execution=ref, number=execution.attempt)
        them = Worker.objects.in_bulk({owner, began} - {runtime.worker_id})
        if owner in them and not workers.lost(them[owner]):
            raise NotOurs("its worker lives", execution=ref)
        proven = began not in them or workers.proven_dead(them[began])
        same = Execution.objects.filter(pk=ref, worker=owner, attempt=execution.attempt)
        if same.update(worker=runtime.worker_id, updated_at=clock.now()) != 1:
            raise NotOurs("the execution moved on without us", execution=ref)
        by = str(runtime.worker_id)
        page.add(fact("execution.taken_over", attempt=execution.attempt, worker=by, proven_dead=proven))
    execution = Execution.objects.select_related("workspace", "caller").get(pk=ref)
    return Lease(ref=ref, attempt=execution.attempt, worker_id=runtime.worker_id), execution, proven


def _settle(lease: Lease, execution: Execution, proven: bool) -> str:
    confirmed = proven and _kill_guest(lease)
    with ExitStack() as held_lock:
        open_calls = list(Call.objects.filter(execution=execution, status__in=_OPEN).order_by("n"))
        if execution.workspace and any(call.effect == Effect.WRITE for call in open_calls):
            until = clock.monotonic() + _LOCK_SECONDS
            held_lock.enter_context(workspace_lock(execution.workspace.name, until))
        prepared = [call for call in open_calls if call.status == CallStatus.PREPARED]
        seen = [(call, settle.observe(call, execution, catalog.find(call.tool))) for call in prepared]
        if not proven:
            seen = [(call, settle.unproven(call, observed)) for call, observed in seen]
        failpoints.reach("reconcile.middle")
        with writing(lease.ref) as page:
            became = _write(page, lease, held(page, lease), seen, confirmed)
        # Only now: what lies staged is the proof that an effect did not happen, until the record says so.
        for call in open_calls:
            if call.effect == Effect.WRITE:
                settle.discard(call, execution)
        return became


def _kill_guest(lease: Lease) -> bool:
    """The guest dies with its zygote, the zygote with its worker; this makes sure of it."""
    row = Attempt.objects.filter(execution=lease.ref, number=lease.attempt).first()
    if row is None or row.guest_pid is None or row.guest_start_time is None:
        return True
    return processes.kill(row.guest_pid, row.guest_start_time)


def _write(
    page: Page, lease: Lease, execution: Execution, seen: list[tuple[Call, settle.Observed]], confirmed: bool
) -> str:
    resumes = _resumes(execution)
    for call, observed in seen:
        settle.write(page, call, lease.attempt, observed, retry=resumes)
    columns: dict[str, Any] = {"termination_unconfirmed": not confirmed, "crashes": execution.crashes + 1}
    if Call.objects.filter(execution=execution, status=CallStatus.UNKNOWN).exists():
        end = End(status=Status.UNKNOWN, fault=UNKNOWN_EFFECT, ending="interrupted", columns=columns)
    elif execution.cancel_requested_at is not None:
        _stop(page, lease, execution)
        fault = Fault(code="CANCELLED", message=f"cancelled: {execution.cancel_reason}")
        end = End(status=Status.CANCELLED, fault=fault, ending="interrupted", columns=columns)
    elif resumes:
        return _resume(page, execution, columns)
    elif execution.kind == Kind.CAPABILITY:
        end = replace(end_of_request(execution), ending="interrupted", columns=columns)
    else:
        fault = interrupted(execution, "its worker stopped")
        end = End(status=Status.FAILED, fault=fault, ending="interrupted", columns=columns)
    finish(page, execution, end, lease=lease)
    return end.status.value


def _resumes(execution: Execution) -> bool:
    if execution.interruption != Interruption.RESUME or execution.cancel_requested_at is not None:
        return False
    return execution.crashes + 1 < settings.FORGE_MAX_CRASHES


def _resume(page: Page, execution: Execution, columns: dict[str, Any]) -> str:
    delay = _BACK_OFF_SECONDS[min(execution.crashes, len(_BACK_OFF_SECONDS) - 1)]
    due = clock.now() + timedelta(seconds=delay) if delay else None
    waiting.to_queue(page, execution, "interrupted", columns, due=due)
    end_attempt(execution, "interrupted", {})
    return "queued"


def _stop(page: Page, lease: Lease, execution: Execution) -> None:
    if execution.status == Status.RUNNING:
        stopping = fact("execution.stopping", attempt=lease.attempt, reason="cancelled")
        move(page, execution, Status.STOPPING, stopping, lease=lease)
