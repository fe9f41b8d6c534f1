"""What policy says of a call, and how a person is asked."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from approvals.conditions import Subject
from approvals.errors import Unasked
from approvals.models import Approval
from approvals.policy import Question, Verdict, foresee
from approvals.services.ask import Ask, ask
from approvals.services.grant_use import answer_in
from approvals.services.notices import announce
from approvals.states import NoticeKind, State
from executions.capabilities.base import Capability, Description, Precondition
from executions.models import Call, Execution, Workspace
from executions.outbox.models import SignalKind
from executions.outbox.tell import tell
from executions.services import journal, previews, sealed
from executions.services.requests import artifacts_of, scopes
from executions.states import CallStatus, Isolation
from executions.transitions import move_call
from forge_project.kernel.errors import Conflict
from forge_project.ledger.writing import Page

MAX_TRIES = 3
T = TypeVar("T")
MAX_ASKED = 4  # once, and three times more when what was approved had changed


def question(execution: Execution, capability: Capability, subject: Subject | None = None) -> Question:
    """The call as policy is asked about it."""
    place = execution.workspace
    return Question(
        caller=caller_name(execution),
        workspace=place.name if place else "",
        capability=capability.name,
        effect=capability.effect.value,
        network=capability.network,
        risk=capability.risk.value,
        subject=subject,
        **facts_of(place),
    )


def facts_of(place: Workspace | None) -> dict[str, Any]:
    """What rules may look at of a workspace, beside its name."""
    if place is None:
        return {}
    return {"kind": place.kind, "isolation": place.isolation, "hosts": tuple(place.network_hosts)}


def today(question: Question, execution: Execution) -> Question:
    """The question with the workspace as it is now: `execution` as the guard read it in this transaction."""
    return replace(question, **facts_of(execution.workspace))


def subject_of(execution: Execution, capability: Capability, given: Callable[[], Any]) -> Subject:
    """What conditions may look at of one call."""
    return Subject(given, lambda: capability.aim(given(), artifacts_of(execution)))


def of_call(execution: Execution, capability: Capability, call: Call) -> Question:
    """A journaled call as policy is asked about it, its conditions answerable outside a transaction."""
    return question(execution, capability, subject_of(execution, capability, lambda: sealed.unseal(call.sealed_input)))


def settled(act: Callable[[], T], questions: Iterable[Question]) -> T:
    """Runs a transaction that judges. Conditions that it meets unasked are asked when it is rolled back, then again."""
    for one in questions:
        foresee(one)
    for _ in range(MAX_TRIES):
        try:
            return act()
        except Unasked as unasked:
            unasked.ask()
    return act()


def caller_name(execution: Execution) -> str:
    """The user name rules look at."""
    return execution.caller_ref.removeprefix("user:")


def bound_input(call: Call) -> Any:
    """The clear input an approval is bound to."""
    return {"tool": call.tool, "args": sealed.unseal(call.sealed_input)}


def bound_scope(execution: Execution) -> dict[str, str]:
    """The scope an approval is bound to: who, for what, where, and what that place lets pass (unless it is plain)."""
    place = execution.workspace
    bound = {"caller": execution.caller_ref, "workspace": place.name if place else ""} | scopes(execution)
    if place is not None and place.isolation != Isolation.SHARED:
        bound["isolation"] = place.isolation
    if place is not None and place.network_hosts:
        bound["network_hosts"] = " ".join(place.network_hosts)
    return bound


def ask_person(
    page: Page,
    execution: Execution,
    call: Call,
    capability: Capability,
    *,
    verdict: Verdict,
    seen: Precondition,
    told: Description,
    grants: Sequence[str] = (),
) -> Approval:
    """Writes the approval, which one of `grants` may answer at once, and moves the call to it.

    Raises Conflict PRECONDITION_FAILED when asked too often.
    """
    if call.times_asked >= MAX_ASKED:
        raise Conflict("what was approved changed each time before it was done", code="PRECONDITION_FAILED")
    preview, hidden = previews.shown_preview(execution.ref, told.preview)
    approval = ask(
        page,
        Ask(
            execution_ref=execution.ref,
            call_id=call.call_id,
            n=call.n,
            caller=execution.caller,
            on_behalf_of=execution.on_behalf_of,
            workspace=execution.workspace.name if execution.workspace else "",
            capability=capability.name,
            effect=capability.effect.value,
            network=capability.network,
            risk=verdict.risk or capability.risk.value,
            target=told.target,
            sentence=told.sentence,
            preview=preview,
            warnings=[*hidden, *told.warnings],
            reversible=told.reversible,
            purpose=call.purpose or execution.purpose,
            input=bound_input(call),
            scope=bound_scope(execution),
            precondition=seen,
            verdict=verdict,
        ),
    )
    if approval.state == State.PENDING and not answer_in(page, approval, grants):
        announce(page, approval, NoticeKind.ASKED)
    paths = journal.shown_paths(execution.ref, capability, sealed.unseal(call.sealed_input), seen)
    again = {"approval_ref": approval.ref, "times_asked": call.times_asked + 1}
    move_call(page, call, CallStatus.AWAITING_APPROVAL, paths=paths, **again)
    if approval.state == State.PENDING:  # what a standing grant answered waits for nobody
        tell(execution, SignalKind.APPROVAL_REQUESTED, approval_ref=approval.ref, approval_state=approval.state)
    return approval
