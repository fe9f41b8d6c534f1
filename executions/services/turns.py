"""Transaction A: one turn of a guest becomes history, with everything it asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from approvals.policy import Verdict
from executions.capabilities.base import Capability, validate_input
from executions.models import Call, Execution
from executions.sandbox.replay import SLEEP, RecordedTurn
from executions.sandbox.shapes import Asked, Turn
from executions.services import asking, catalog, journal, sleeping, streams
from executions.services.boundary import denied
from executions.services.faults import fault_of
from executions.services.guard import Guard
from executions.services.journal import Ended
from executions.services.shapes import Fault
from executions.transitions import held
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import Invalid
from forge_project.ledger.events import fact
from forge_project.ledger.writing import Page, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A call after its turn was committed: to be run (`capability`), or ended already (`told`)."""

    call: Call
    capability: Capability | None = None
    verdict: Verdict | None = None
    told: dict[str, Any] | None = None


def commit(
    guard: Guard, turn: Turn, recorded: RecordedTurn, outcomes: Sequence[tuple[Call, Ended]], **start: Any
) -> list[Opened]:
    """Outcomes not yet durable, `forge.turn`, this turn's calls with their verdicts, T1 of every read allowed.

    `start` are columns first known now (engine, sealed_start …).
    """
    failpoints.reach("t1.before")
    with writing(guard.lease.ref) as page:
        execution = guard.pass_dispatch(page, writes=False)
        for call, ended in outcomes:
            journal.finish(page, call, ended)
        page.add(fact("forge.turn", turn=recorded.to_json(), attempt=guard.lease.attempt))
        opened = [open_one(page, guard, execution, asked) for asked in asked_in(turn)]
        streams.append(execution, [turn])
        said = {"progress": told} if (told := streams.progress([turn], execution.ref)) else {}
        Execution.objects.filter(pk=execution.pk).update(
            turns=recorded.number, crashes=0, updated_at=clock.now(), **said, **start
        )
    failpoints.reach("t1.after")
    return opened


def asked_in(turn: Turn) -> list[Asked]:
    """Its calls by their number; a sleep is one of them."""
    sleeps = [Asked(sleep.n, SLEEP, {"ms": sleep.ms}, None) for sleep in turn.sleep]
    return sorted([*turn.calls, *sleeps], key=lambda asked: asked.n)


def write_outcomes(guard: Guard, outcomes: Sequence[tuple[Call, Ended]]) -> None:
    """Makes outcomes durable when no further turn will."""
    if outcomes:
        with writing(guard.lease.ref) as page:
            held(page, guard.lease)
            for call, ended in outcomes:
                journal.finish(page, call, ended)


def open_one(page: Page, guard: Guard, execution: Execution, asked: Asked) -> Opened:
    """Journals one call, judges it, and prepares it if it is a read (or internal) that policy allows."""
    capability = catalog.find(asked.tool)
    wanted = journal.Asked(n=asked.n, tool=asked.tool, input=asked.input, purpose=asked.purpose or "")
    call = journal.open_call(page, execution, wanted, capability)
    if capability is None:
        return _ended(page, call, Fault(code="TOOL_NOT_FOUND", message="no such capability"), rejected=False)
    try:
        validate_input(capability, asked.input)
    except Invalid as error:
        return _ended(page, call, fault_of(error, call.call_id), rejected=False)
    verdict = asking.verdict(execution, capability)
    page.add(
        fact(
            "policy.decided",
            call_id=call.call_id,
            decision=verdict.decision,
            rule=verdict.rule,
            rule_version=verdict.version,
        )
    )
    if verdict.decision == "DENY":
        return _ended(page, call, fault_of(denied(verdict), call.call_id), rejected=True)
    if sleeping.sleeps(call):
        sleeping.stay(execution, call)
    elif verdict.decision == "ALLOW" and capability.effect in journal.QUIET:
        journal.prepare(page, call, guard.lease.attempt)
    return Opened(call=call, capability=capability, verdict=verdict)


def _ended(page: Page, call: Call, fault: Fault, *, rejected: bool) -> Opened:
    journal.refuse(page, call, fault, rejected=rejected)
    return Opened(call=call, told=Ended(fault=fault).told())


def prepare_again(guard: Guard, call: Call) -> None:
    """T1 of a read by a newer attempt, after reconcile marked it to be asked again."""
    with writing(guard.lease.ref) as page:
        guard.pass_dispatch(page, writes=False)
        journal.prepare(page, call, guard.lease.attempt)
