"""Drives one claimed execution to where it ends, parks, or is given back."""

import logging
from dataclasses import replace
from typing import Any, TypeGuard

from executions.errors import CancelRequested, DeadlinePassed, Held, LeaseLost
from executions.models import Execution, Workspace
from executions.outbox import logged
from executions.sandbox.guest import Guest
from executions.sandbox.shapes import Complete, Fatal
from executions.services import first_start, intact, quarantine, single, waiting
from executions.services.attempt import Attempt
from executions.services.close import Leftovers, close, end_of
from executions.services.ending import Ending, Parked, Stopped
from executions.services.finish import End
from executions.services.runtime import Runtime
from executions.services.script import Script
from executions.services.shapes import Fault
from executions.services.stop import GRACE_SECONDS, stop
from executions.states import Kind, Status
from executions.transitions import Lease
from forge_project.kernel import clock, hot
from forge_project.kernel.errors import Denied, Invalid, NotReady, TooLarge, Unidentified
from forge_project.kernel.log import trace
from forge_project.kernel.sealing import SealBroken
from forge_project.ledger.errors import LedgerCorrupt

log = logging.getLogger("forge.executions")


def advance(lease: Lease, runtime: Runtime) -> None:
    """Runs one attempt. Losing the lease is normal and silent; a bug leaves the row to housekeeping."""
    try:
        execution = _claimed(lease)
        attempt = Attempt(lease=lease, runtime=runtime, execution=execution)
        span = trace.child(execution.traceparent, f"{lease.ref}#{lease.attempt}")
        with trace.bound(**logged.of(execution) | {"status": "", "traceparent": span}):
            if lease.attempt > 1 and (corrupt := _corrupt(execution)) is not None:
                log.error("not resumed: %s: %s", lease.ref, corrupt.details)
                close(attempt, End(status=Status.FAILED, fault=corrupt), Leftovers())
            elif execution.kind == Kind.CAPABILITY:
                single.drive(attempt)
            else:
                drive(attempt)
    except LeaseLost:
        log.info("lease lost: %s#%d", lease.ref, lease.attempt)
    except SealBroken as broken:
        if not quarantine.put_aside(lease, broken):
            raise


def _claimed(lease: Lease) -> Execution:
    execution = hot.one(Execution, {"ref": lease.ref})
    if execution is None:
        raise LeaseLost("there is no such execution", execution=lease.ref)
    if execution.workspace_id is not None:
        execution.workspace = hot.one(Workspace, {"id": execution.workspace_id})
    return execution


def _corrupt(execution: Execution) -> Fault | None:
    """Why this execution can't go on from what is stored of it; nothing of it is dispatched then."""
    try:
        intact.check(execution)
    except LedgerCorrupt as error:
        return Fault(code=error.code, message=error.message, details=error.facts)
    return None


def drive(attempt: Attempt) -> None:
    """A script's attempt. Parking may be refused (something was decided meanwhile): then the next one goes on."""
    fixed = first_start.sealed_start(attempt.execution)
    first = fixed or first_start.make(attempt.execution)
    try:
        message = first_start.start_message(attempt, first, replaying=fixed is not None)
        guest = attempt.runtime.zygotes.spawn(message)
    except SealBroken:
        raise  # its request; no fault of it
    except (NotReady, Invalid, TooLarge) as error:
        fault = Fault(code=error.code, message=error.message, retryable=error.retryable, details=error.facts)
        return close(attempt, End(status=Status.FAILED, fault=fault), Leftovers())
    if fixed:
        first_start.note_guest(attempt.lease, guest)
    script = Script(attempt, guest, None if fixed else first)
    try:
        ended = _run(attempt, script)
        attempt.ended.set()
        confirmed = guest.kill()
    except BaseException:
        attempt.ended.set()
        guest.kill()
        script.abandon()  # the row is given up only when nothing of it is under way: somebody will look at the world
        raise
    if isinstance(ended, Parked):
        return None if confirmed else note_unconfirmed(attempt.lease)
    _settle_calls(attempt, script, ended)
    columns = columns_of(attempt, guest) | {"termination_unconfirmed": not confirmed}
    columns |= {} if fixed else first_start.surroundings(attempt)  # it may have ended before its first turn
    return _end(attempt, script, ended, columns, script.leftovers(first.state))


def _run(attempt: Attempt, script: Script) -> Ending:
    """The script's own end, or what forbade its next dispatch."""
    try:
        ended = script.run()
        while isinstance(ended, Parked) and not _park(attempt, script):
            ended = script.go_on()
    except CancelRequested:
        attempt.note_cancelled()
        return Fatal("CANCELLED", "cancelled")
    except Held as held:
        attempt.hold = held.facts["hold"]
        return Stopped()
    except (DeadlinePassed, Denied, Unidentified, TooLarge) as refused:
        return Fatal(refused.code, refused.message, details=refused.facts)
    return ended


def _park(attempt: Attempt, script: Script) -> bool:
    script.settle_unwritten()
    return waiting.park(attempt.lease, columns_of(attempt, script.guest))


def _received(ended: Ending) -> TypeGuard[Complete | Fatal]:
    """Whether the guest itself came to an end: then that counts, whatever was asked for meanwhile."""
    return isinstance(ended, Complete) or (isinstance(ended, Fatal) and ended.code != "CANCELLED")


def _settle_calls(attempt: Attempt, script: Script, ended: Ending) -> None:
    """Effects that have begun come to their end, nothing new begins; a cancel is seen while they do.

    Who only looks or reads gets the time that is left and a moment more, or just the moment once it is cancelled.
    Before the execution is given back everything ends: a later attempt finds nothing half done.
    """
    begun = stop(attempt, None) if script.running else set()
    until = attempt.deadline + GRACE_SECONDS
    while True:
        if not (_received(ended) or attempt.stopping) and attempt.cancelled():
            begun, until = stop(attempt, "cancelled"), clock.monotonic() + GRACE_SECONDS
        given_back = attempt.runtime.draining.is_set() or attempt.hold is not None
        drains = given_back and not (attempt.stopping or _received(ended))
        over = clock.monotonic() >= until and not drains and begun.isdisjoint(script.running)
        if over or not script.running:
            return
        script.collect()


def _end(attempt: Attempt, script: Script, ended: Ending, columns: dict[str, Any], left: Leftovers) -> None:
    """What the attempt came to, decided once everything in flight has settled. What was received first counts."""
    timed_out = clock.monotonic() >= attempt.deadline
    if _received(ended):
        end = end_of(ended)
    elif script.unknown:
        end = End(status=Status.UNKNOWN)
    elif attempt.cancelled(look=True):  # it may be what just stopped a call
        if not attempt.stopping:
            stop(attempt, "cancelled")
        end = end_of(Fatal("CANCELLED", "cancelled"))
    elif timed_out:
        end = end_of(Fatal("TIMEOUT", "the execution's time is used up"))
    elif attempt.hold is not None:
        script.settle_unwritten()
        return waiting.requeue(attempt.lease, columns, "held", hold=attempt.hold)
    elif attempt.runtime.draining.is_set():
        script.settle_unwritten()
        return waiting.requeue(attempt.lease, columns, "drained")
    else:
        raise LeaseLost("this attempt was stopped from elsewhere", execution=attempt.lease.ref)
    return close(attempt, replace(end, columns=columns), left)


def note_unconfirmed(lease: Lease) -> None:
    """A guest that did not die in time, of an execution that is parked already."""
    Execution.objects.filter(pk=lease.ref, attempt=lease.attempt).update(termination_unconfirmed=True)


def columns_of(attempt: Attempt, guest: Guest) -> dict[str, Any]:
    """What every end of an attempt writes: the time it took, all attempts together."""
    usage, cpu_ms = guest.usage, attempt.execution.cpu_ms + guest.live_cpu_ms
    metrics = {"cpu_ms": cpu_ms, "wall_ms": attempt.active_ms, "peak_memory_bytes": usage.peak_bytes}
    return {"active_ms": attempt.active_ms, "cpu_ms": cpu_ms, "metrics": metrics}
