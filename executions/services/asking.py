"""What policy says of a call, and how a person is asked."""

from typing import Any

from approvals.models import Approval
from approvals.policy import Question, Verdict, judge
from approvals.services.ask import Ask, ask
from executions.capabilities.base import Capability, Description, Precondition
from executions.models import Call, Execution
from executions.outbox.models import SignalKind
from executions.outbox.tell import tell
from executions.services import journal, previews, sealed
from executions.services.requests import scopes
from executions.states import CallStatus
from executions.transitions import move_call
from forge_project.kernel.errors import Conflict
from forge_project.ledger.writing import Page

MAX_ASKED = 4  # once, and three times more when what was approved had changed


def question(execution: Execution, capability: Capability) -> Question:
    """The call as policy is asked about it."""
    return Question(
        caller=caller_name(execution),
        workspace=execution.workspace.name if execution.workspace else "",
        capability=capability.name,
        effect=capability.effect.value,
        network=capability.network,
    )


def caller_name(execution: Execution) -> str:
    """The user name rules look at."""
    return execution.caller_ref.removeprefix("user:")


def verdict(execution: Execution, capability: Capability) -> Verdict:
    """What policy says now."""
    return judge(question(execution, capability))


def bound_input(call: Call) -> Any:
    """The clear input an approval is bound to."""
    return {"tool": call.tool, "args": sealed.unseal(call.sealed_input)}


def bound_scope(execution: Execution) -> dict[str, str]:
    """The scope an approval is bound to."""
    place = execution.workspace.name if execution.workspace else ""
    return {"caller": execution.caller_ref, "workspace": place} | scopes(execution)


def ask_person(
    page: Page,
    execution: Execution,
    call: Call,
    capability: Capability,
    *,
    verdict: Verdict,
    seen: Precondition,
    told: Description,
) -> Approval:
    """Writes the pending approval and moves the call to it; Conflict PRECONDITION_FAILED when asked too often."""
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
            risk=capability.risk.value,
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
    paths = journal.shown_paths(execution.ref, capability, sealed.unseal(call.sealed_input), seen)
    again = {"approval_ref": approval.ref, "times_asked": call.times_asked + 1}
    move_call(page, call, CallStatus.AWAITING_APPROVAL, paths=paths, **again)
    tell(execution, SignalKind.APPROVAL_REQUESTED, approval_ref=approval.ref, approval_state=approval.state)
    return approval
