"""Transaction A: one turn of a guest becomes history, with everything it asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from approvals.policy import DEFAULT, Question, Verdict, judge, rules_of
from executions.capabilities.base import Capability, validate_input
from executions.models import Call, Execution
from executions.sandbox.guest import Guest
from executions.sandbox.replay import SLEEP, RecordedTurn
from executions.sandbox.shapes import Asked, Turn
from executions.services import asking, catalog, first_start, journal, sleeping, streams, volume
from executions.services.boundary import denied
from executions.services.faults import fault_of
from executions.services.guard import Guard
from executions.services.journal import Ended
from executions.services.shapes import Fault
from executions.transitions import held
from forge_project.kernel import clock, failpoints, hot
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
    guard: Guard,
    execution: Execution,
    turn: Turn,
    recorded: RecordedTurn,
    outcomes: Sequence[tuple[Call, Ended]],
    *,
    guest: Guest | None = None,
    **start: Any,
) -> list[Opened]:
    """Outcomes not yet durable, `forge.turn`, this turn's calls with their verdicts, T1 of every read allowed.

    `execution` as it was at the claim; `guest` and `start` (engine, sealed_start …) are first known now.
    """
    failpoints.reach("t1.before")
    questions = pose(execution, asked_in(turn))
    write = partial(_write, guard, turn, recorded, outcomes, questions, guest, start)
    opened = asking.settled(write, questions.values())
    failpoints.reach("t1.after")
    return opened


def pose(execution: Execution, calls: Iterable[Asked]) -> dict[int, Question]:
    """The calls as policy is asked about them, by n; without those that name no capability."""
    posed = {}
    for asked in calls:
        if (capability := catalog.find(asked.tool)) is not None:
            subject = asking.subject_of(execution, capability, partial(getattr, asked, "input"))
            posed[asked.n] = asking.question(execution, capability, subject)
    return posed


def judge_all(questions: Mapping[int, Question]) -> dict[int, Verdict]:
    """What the rules say, read once; before anything is written: it may have to be done again (Unasked)."""
    rules = rules_of(next(iter(questions.values())).caller) if questions else None
    return {n: rules.judge(question) for n, question in questions.items()} if rules else {}


def _write(
    guard: Guard,
    turn: Turn,
    recorded: RecordedTurn,
    outcomes: Sequence[tuple[Call, Ended]],
    questions: Mapping[int, Question],
    guest: Guest | None,
    start: dict[str, Any],
) -> list[Opened]:
    with writing(guard.lease.ref) as page:
        execution = guard.pass_dispatch(page, writes=False, tools=[asked.tool for asked in turn.calls])
        kept = volume.within(execution, _size(turn, outcomes))  # before anything is moved that a refusal takes back
        verdicts = judge_all({n: asking.today(one, execution) for n, one in questions.items()})
        for call, ended in outcomes:
            journal.finish(page, call, ended)
        page.add(fact("forge.turn", turn=recorded.to_json(), attempt=guard.lease.attempt))
        opened = [open_one(page, guard, execution, asked, verdicts.get(asked.n)) for asked in asked_in(turn)]
        streams.append(execution, [turn])
        said = {"progress": told} if (told := streams.progress([turn], execution.ref)) else {}
        told = {"turns": recorded.number, "crashes": 0, "updated_at": clock.now(), "bytes": kept}
        hot.update(Execution, {"ref": execution.pk}, told | said | start)
        if guest is not None:
            first_start.note_guest(guard.lease, guest)
    return opened


def _size(turn: Turn, outcomes: Sequence[tuple[Call, Ended]]) -> int:
    told = sum(volume.size(ended.told()) for _, ended in outcomes)
    return told + sum(volume.size(asked.input) for asked in turn.calls) + streams.size(turn)


def asked_in(turn: Turn) -> list[Asked]:
    """Its calls by their number; a sleep is one of them."""
    sleeps = [Asked(sleep.n, SLEEP, {"ms": sleep.ms}, None) for sleep in turn.sleep]
    return sorted([*turn.calls, *sleeps], key=lambda asked: asked.n)


def write_outcomes(guard: Guard, outcomes: Sequence[tuple[Call, Ended]]) -> None:
    """Makes outcomes durable when no further turn will."""
    if outcomes:
        with writing(guard.lease.ref) as page:
            execution = held(page, guard.lease)
            for call, ended in outcomes:
                journal.finish(page, call, ended)
            volume.add(execution, sum(volume.size(ended.told()) for _, ended in outcomes))


def open_one(page: Page, guard: Guard, execution: Execution, asked: Asked, verdict: Verdict | None) -> Opened:
    """Journals one call with its verdict, and prepares it if it is a read (or internal) that policy allows."""
    capability = catalog.find(asked.tool)
    wanted = journal.Asked(n=asked.n, tool=asked.tool, input=asked.input, purpose=asked.purpose or "")
    call = journal.open_call(page, execution, wanted, capability)
    if capability is None or verdict is None:
        return _ended(page, call, Fault(code="TOOL_NOT_FOUND", message="no such capability"), rejected=False)
    try:
        validate_input(capability, asked.input)
    except Invalid as error:
        return _ended(page, call, fault_of(error, call.call_id), rejected=False)
    page.add(
        fact(
            "policy.decided",
            call_id=call.call_id,
            decision=verdict.decision,
            rule=verdict.rule,
            rule_version=verdict.version,
            snapshot=verdict.snapshot() if verdict.rule != DEFAULT else {},
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


def prepare_again(guard: Guard, execution: Execution, call: Call) -> None:
    """T1 of a read by a newer attempt, after reconcile marked it to be asked again.

    Policy is asked again too: Denied where it forbids now, or lets no longer pass what nobody but it had let pass.
    """
    capability = catalog.find(call.tool)
    question = None if capability is None else asking.of_call(execution, capability, call)

    def write() -> None:
        with writing(guard.lease.ref) as page:
            now = guard.pass_dispatch(page, writes=False, tools=[call.tool])
            verdict = None if question is None else judge(asking.today(question, now))
            if verdict is not None and verdict.decision != "ALLOW" and _forbids(verdict, now, call):
                raise denied(verdict)
            journal.prepare(page, call, guard.lease.attempt)

    asking.settled(write, [] if question is None else [question])


def _forbids(verdict: Verdict, execution: Execution, call: Call) -> bool:
    """What a person or a reviewer let pass once stays so, short of a DENY."""
    let = bool(call.approval_ref) or execution.decision_path not in ("", "deterministic")
    return verdict.decision == "DENY" or not let
