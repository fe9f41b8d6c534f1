"""Runs one call in a pool thread: asks, crosses the boundary, applies once, writes the outcome at once."""

import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Literal

from approvals.errors import PolicyChanged, PreconditionChanged
from approvals.policy import Verdict, asked_outside, judge
from approvals.services.grant_use import covering
from artifacts.services.register import Register, register, store
from executions.capabilities.base import Capability, Effect, Outcome, Request
from executions.errors import CancelRequested, DeadlinePassed, GuestEnded, Held, LeaseLost
from executions.models import Call, Execution
from executions.sandbox.limits import Limits
from executions.sandbox.outward import refuse_result
from executions.services import asking, journal, late, reviewing, sealed, settle, volume
from executions.services.boundary import Boundary, MustAsk, NoBoundary, denied
from executions.services.faults import fault_of, log
from executions.services.guard import Guard
from executions.services.journal import Ended
from executions.services.locks import workspace_lock
from executions.services.requests import request_of, scopes
from executions.services.reviewing import Passed
from executions.services.runtime import release_connections
from executions.services.shapes import Fault
from executions.states import CallStatus, SideEffect
from executions.transitions import check_held, held
from forge_project.kernel import failpoints
from forge_project.kernel.errors import Denied, ForgeError, Unidentified
from forge_project.kernel.log.event import event
from forge_project.kernel.plain import OUTAGE
from forge_project.ledger.writing import writing

_AGAIN_AFTER = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of one call. `unwritten`: a read's outcome, which the next turn's transaction writes.

    stopped = the attempt has to end (lease lost, cancelled, out of time); the call is left as it stands.
    """

    n: int
    state: Literal["ended", "waiting", "unknown", "stopped"]
    told: dict[str, Any] | None = None
    unwritten: Ended | None = None
    hold: int | None = None  # what stopped it


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One call to be run under one attempt's guard. `verdict`: the turn's, of a call just requested.

    `execution` is as it was at the claim: what may change since is read again inside each transaction.
    """

    call: Call
    execution: Execution
    capability: Capability
    guard: Guard
    limits: Limits
    verdict: Verdict | None = None


def run(job: Job) -> Report:
    """Runs the job to its report; never raises for what an executor or a person does."""
    try:
        execution = job.execution
        if job.call.status == CallStatus.PREPARED:
            return _run_quiet(job, execution)
        request = request_of(job.call, execution)
        passed: Passed | None = None
        if job.call.status == CallStatus.REQUESTED:
            admitted = _admit(job, execution, request)
            if isinstance(admitted, Report):
                return admitted  # reviewers and people are asked without holding the workspace
            passed = admitted
        if job.call.effect in journal.QUIET:
            return _run_reviewed(job, execution, request, passed)
        place = execution.workspace
        guard = job.guard
        with workspace_lock(place.name, guard.deadline, guard.given_up) if place else nullcontext():
            return _run_effect(job, execution, request, passed)
    except Held as held:
        return Report(n=job.call.n, state="stopped", hold=held.facts["hold"])
    except (LeaseLost, CancelRequested, DeadlinePassed, GuestEnded):
        return Report(n=job.call.n, state="stopped")
    finally:
        release_connections()


def _run_quiet(job: Job, execution: Execution) -> Report:
    """A read or internal call, dispatched already: its T1 was the turn's own transaction."""
    if job.call.effect not in journal.QUIET:
        raise AssertionError(f"{job.call.call_id} was dispatched by nobody here")
    request = request_of(job.call, execution)
    failpoints.reach("effect.before")
    try:
        outcome = job.capability.execute(request, NoBoundary(job.call.operation_id))
        failpoints.reach("effect.after")
    except Exception as error:
        ended = Ended(fault=fault_of(error, job.call.call_id))
    else:
        if outcome.artifacts:
            return _commit(job, execution, outcome)
        ended = _checked(outcome, job.limits, SideEffect.NOT_STARTED)
    return Report(n=job.call.n, state="ended", told=ended.told(), unwritten=ended)


def _run_reviewed(job: Job, execution: Execution, request: Request, passed: Passed | None) -> Report:
    """A read or internal call that policy wants looked at: approved, it crosses the boundary like any other."""
    try:
        boundary = Boundary(job.call, execution, job.capability, job.guard, passed)
        boundary.begin(job.capability.observe(request))
    except (PreconditionChanged, PolicyChanged, MustAsk):
        return _ask(job, execution, request)
    except (LeaseLost, CancelRequested, DeadlinePassed, GuestEnded, Held):
        raise
    except Exception as error:
        fault = fault_of(error, job.call.call_id)
        return _refuse(job, fault, rejected=isinstance(error, Denied | Unidentified))
    return _run_quiet(job, execution)


def _run_effect(job: Job, execution: Execution, request: Request, passed: Passed | None) -> Report:
    boundary = Boundary(job.call, execution, job.capability, job.guard, passed)
    try:
        outcome = job.capability.execute(request, boundary)
    except (PreconditionChanged, PolicyChanged, MustAsk):
        return _ask(job, execution, request)
    except (LeaseLost, CancelRequested, DeadlinePassed, GuestEnded, Held):
        if boundary.begun is None:
            raise
        return _look(job, execution, fault_of(DeadlinePassed("stopped after its effect began"), job.call.call_id))
    except Exception as error:
        fault = fault_of(error, job.call.call_id)
        if boundary.begun is not None:
            return _look(job, execution, fault)
        return _refuse(job, fault, rejected=isinstance(error, Denied | Unidentified))
    if boundary.begun is None:
        crossed_none = AssertionError(f"{job.capability.name} had an effect without its boundary")
        return _refuse(job, fault_of(crossed_none, job.call.call_id), rejected=False)
    return _commit(job, execution, outcome)


def _admit(job: Job, execution: Execution, request: Request) -> Report | Passed | None:
    """Policy, then reviewers, then the person's question where one is due; else go on to the effect."""
    verdict = job.verdict or asked_outside(asking.of_call(execution, job.capability, job.call))
    if verdict.decision == "DENY":
        return _refuse(job, fault_of(denied(verdict), job.call.call_id), rejected=True)
    if verdict.decision == "ALLOW":
        return None
    told = reviewing.consult(job.guard.lease, execution, job.call, job.capability, request, verdict)
    if isinstance(told, Fault):
        return _refuse(job, told, rejected=True)
    return told or _ask(job, execution, request)


def _ask(job: Job, execution: Execution, request: Request) -> Report:
    """Observes and describes outside any transaction, then writes the pending approval."""
    try:
        seen = job.capability.observe(request)
        told = job.capability.describe(request, seen)
        question = asking.of_call(execution, job.capability, job.call)
        grants = covering(question, execution.ref, asked_outside(question))

        def write() -> None:
            with writing(job.guard.lease.ref) as page:
                writes = job.call.effect not in journal.QUIET
                now = job.guard.pass_dispatch(page, writes=writes, tools=[job.call.tool])
                execution.workspace = now.workspace  # what the approval will be bound to
                verdict = judge(asking.today(question, now))
                if verdict.decision == "DENY":
                    raise denied(verdict)
                job.call.refresh_from_db()
                asking.ask_person(
                    page, execution, job.call, job.capability, verdict=verdict, seen=seen, told=told, grants=grants
                )

        asking.settled(write, [question])
    except (LeaseLost, CancelRequested, DeadlinePassed, GuestEnded, Held):
        raise
    except Exception as error:
        return _refuse(job, fault_of(error, job.call.call_id), rejected=isinstance(error, Denied))
    return Report(n=job.call.n, state="waiting")


def _refuse(job: Job, fault: Fault, *, rejected: bool) -> Report:
    with writing(job.guard.lease.ref) as page:
        held(page, job.guard.lease)
        job.call.refresh_from_db()
        journal.refuse(page, job.call, fault, rejected=rejected)
    if rejected:
        told: dict[str, Any] = {"call_id": job.call.call_id, "tool": job.call.tool, "error_code": fault.code}
        event("executions", "admission_rejected", execution_ref=job.guard.lease.ref, **told)
    return Report(n=job.call.n, state="ended", told=Ended(fault=fault).told())


def _commit(job: Job, execution: Execution, outcome: Outcome) -> Report:
    """T2: the outcome, its artifacts, the call's row; at once, whatever else the attempt is doing."""
    quiet = job.capability.effect in (Effect.READ, Effect.INTERNAL)
    applied = SideEffect.APPLIED if outcome.effect_applied else SideEffect.NOT_APPLIED
    stored = [store(artifact.content) for artifact in outcome.artifacts]
    failpoints.reach("t2.before")
    try:
        ended = _kept(job, execution, outcome, stored, SideEffect.NOT_STARTED if quiet else applied)
    except LeaseLost:
        if not quiet:
            late.keep(job.call, job.guard.lease, _checked(outcome, job.limits, applied), stored)
        raise
    failpoints.reach("t2.after")
    return Report(n=job.call.n, state="ended", told=ended.told())


def _kept(job: Job, execution: Execution, outcome: Outcome, stored: list[str], effect: SideEffect) -> Ended:
    """As `_write_outcome`, through an outage of the database: what is known must not become unknown by it."""
    for seconds in _AGAIN_AFTER:
        try:
            return _write_outcome(job, execution, outcome, stored, effect)
        except OUTAGE as error:
            log.warning("outcome not written yet: %s: %s", job.call.call_id, type(error).__name__)
            trouble = error
        release_connections()
        time.sleep(seconds)
        with suppress(*OUTAGE):
            job.call.refresh_from_db()  # the commit may have come through though its answer did not
    raise trouble


def _write_outcome(job: Job, execution: Execution, outcome: Outcome, stored: list[str], effect: SideEffect) -> Ended:
    with writing(job.guard.lease.ref) as page:
        held(page, job.guard.lease)
        refs = [
            register(
                Register(
                    kind=artifact.kind,
                    owner=execution.caller_ref,
                    workspace=execution.workspace.name if execution.workspace else "",
                    scopes=scopes(execution),
                    sha256=digest,
                    mime=artifact.mime,
                    bytes=len(artifact.content),
                    metadata=dict(artifact.metadata),
                    execution_ref=execution.ref,
                    call_id=job.call.call_id,
                    operation_id=job.call.operation_id,
                    ordinal=at,
                )
            ).ref
            for at, (artifact, digest) in enumerate(zip(outcome.artifacts, stored, strict=True))
        ]
        ended = _checked(outcome, job.limits, effect, tuple(refs))
        if job.call.status == CallStatus.PREPARED:
            journal.finish(page, job.call, ended)
            volume.add(execution, volume.size(ended.told()))
    return ended


def _checked(outcome: Outcome, limits: Limits, effect: SideEffect, refs: tuple[str, ...] = ()) -> Ended:
    """The outcome as it may cross to the guest; what can't cross is TOOL_FAILED before anything is written."""
    result = outcome.result_with(refs) if refs else outcome.result
    fault = None
    try:
        refuse_result(result, limits)
    except ForgeError as error:
        code = error.code if error.code == "RESULT_LIMIT" else "TOOL_FAILED"
        fault = Fault(code=code, message=error.message, details=error.facts)
    if not outcome.successful and fault is None:
        fault = Fault(code="EXECUTION_FAILED", message="it ran and failed", details={"result": result})
    return Ended(value=result, fault=fault, side_effect=effect, evidence=outcome.evidence, artifact_refs=refs)


def _look(job: Job, execution: Execution, failure: Fault) -> Report:
    """The executor failed after its effect began: settled at once by looking, never by doing it again.

    Under a lost lease nobody looks: that is its new holder's business, and looking may finish what was begun.
    """
    lease = job.guard.lease
    try:
        check_held(lease)
        seen = settle.observe(job.call, execution, job.capability)
        with writing(lease.ref) as page:
            held(page, lease)
            job.call.refresh_from_db()
            kept = settle.write(page, job.call, lease.attempt, seen, failure, retry=False)
    except LeaseLost:
        late.keep(job.call, lease, Ended(fault=failure, side_effect=SideEffect.UNKNOWN), ())
        raise
    settle.discard(job.call, execution)
    if kept == "unknown":
        return Report(n=job.call.n, state="unknown")
    return Report(n=job.call.n, state="ended", told=sealed.unseal(job.call.sealed_result or b""))
