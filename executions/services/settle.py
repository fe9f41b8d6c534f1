"""Settles a dispatched call whose outcome was lost: looks at the world, writes the recovery bundle."""

from dataclasses import dataclass, replace
from typing import Literal

from executions.capabilities.base import Applied, Capability, NotApplied, Recovery, Settled, Unknown
from executions.models import Call, Execution
from executions.services import catalog, journal, sealed
from executions.services.faults import INTERRUPTED, log
from executions.services.requests import request_of
from executions.services.shapes import Fault
from executions.states import CallStatus, SideEffect
from executions.transitions import move_call
from forge_project.kernel import clock
from forge_project.kernel.sealing import SealBroken
from forge_project.ledger import operations
from forge_project.ledger.writing import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was seen of one call's effect; `retry` = a read that a newer attempt may simply ask again."""

    settled: Settled
    observation: operations.Observation
    retry: bool = False


UNREAD = Observed(settled=NotApplied(), observation="matches_prior_state", retry=True)


def observe(call: Call, execution: Execution, capability: Capability | None) -> Observed:
    """Looks, by the recovery mode the call was dispatched with; outside any transaction; changes no record."""
    if call.effect in journal.QUIET:
        return UNREAD if not call.approval_ref else replace(UNREAD, retry=False)  # an approval is used once
    match call.recovery_mode:
        case Recovery.REPLAY_SAFE | Recovery.IDEMPOTENT:
            # An approved call is never dispatched again by itself; the target's key makes the agent's repeat safe.
            return Observed(settled=NotApplied(), observation="unreadable")
        case Recovery.RECONCILE | Recovery.REATTACH if capability is not None:
            return _look(call, execution, capability)
    return Observed(settled=Unknown("nothing can be looked at"), observation="unreadable")


def unproven(call: Call, seen: Observed) -> Observed:
    """What was seen while the worker that began it may still be at it: not there yet proves nothing."""
    if call.effect in journal.QUIET or seen.observation != "matches_prior_state":
        return seen
    why = "it is not there, but the worker that began it is not proven dead"
    return Observed(settled=Unknown(why), observation="unreadable")


def _look(call: Call, execution: Execution, capability: Capability) -> Observed:
    if call.sealed_precondition is None:
        return Observed(settled=Unknown("no precondition was recorded"), observation="unreadable")
    try:
        settled = capability.reconcile(request_of(call, execution), sealed.unseal(call.sealed_precondition))
    except SealBroken:
        raise  # a key may come back: until then nothing is said of it
    except Exception as error:  # whatever an executor raises here, nothing is known
        log.error("reconcile failed: %s", call.call_id, exc_info=error)
        return Observed(settled=Unknown("looking failed"), observation="unreadable")
    match settled:
        case Applied():
            return Observed(settled=settled, observation="matches_expected_state")
        case NotApplied():
            return Observed(settled=settled, observation="matches_prior_state")
    return Observed(settled=settled, observation="diverged")


def discard(call: Call, execution: Execution) -> None:
    """Lets the capability remove what it had prepared for a call that was not applied, once the record says so."""
    capability = catalog.find(call.tool)
    if capability is None or call.side_effect in (SideEffect.UNKNOWN, SideEffect.APPLIED):
        return  # nothing is staged any more, or what is staged is evidence
    try:
        seen = None if call.sealed_precondition is None else sealed.unseal(call.sealed_precondition)
        capability.discard(request_of(call, execution), seen)
    except Exception as error:  # a left-over stage is no reason to leave an execution open
        log.warning("nothing discarded: %s: %s", call.call_id, type(error).__name__)


Kept = Literal["ended", "unknown", "retried"]


def write(page: Page, call: Call, attempt: int, seen: Observed, failure: Fault = INTERRUPTED, *, retry: bool) -> Kept:
    """The recovery bundle and the call's row. `failure` is what a call that was not applied is told."""
    match seen.settled:
        case Applied(result, evidence):
            ended = journal.Ended(value=result, side_effect=SideEffect.APPLIED, evidence=evidence)
            _bundle(page, call, attempt, seen, "completed", ended)
            return "ended"
        case NotApplied() if seen.retry and retry:
            _bundle(page, call, attempt, seen, "retried", None)
            return "retried"
        case NotApplied():
            quiet = call.effect in journal.QUIET
            effect = SideEffect.NOT_STARTED if quiet else SideEffect.NOT_APPLIED
            _bundle(page, call, attempt, seen, "not_applied", journal.Ended(fault=failure, side_effect=effect))
            return "ended"
        case Unknown(why, evidence):
            _bundle(page, call, attempt, seen, "parked", None, why)
            shown = sealed.column(sealed.shown(call.execution_id, [*evidence, {"kind": "output", "why": why}]))
            facts = {"side_effect": SideEffect.UNKNOWN, "error_code": "UNKNOWN_SIDE_EFFECT", "evidence": shown}
            move_call(page, call, CallStatus.UNKNOWN, ended_at=clock.now(), **facts)
    return "unknown"


def _bundle(
    page: Page,
    call: Call,
    attempt: int,
    seen: Observed,
    disposition: operations.Disposition,
    ended: journal.Ended | None,
    why: str = "",
) -> None:
    told = journal.outcome(call, ended) if ended is not None else None
    recovery = operations.Recovery(
        attempt=attempt,
        observation=seen.observation,
        observation_digest=sealed.digest({"observation": seen.observation, "call": call.call_id, "why": why}),
        disposition=disposition,
        reason=why or f"reconcile_{seen.observation}",
        outcome=told,
    )
    operations.recover(page, journal.tool(call), recovery)
    if ended is not None:
        journal.write_end(page, call, ended)
