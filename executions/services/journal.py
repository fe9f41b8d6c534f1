"""A call's row and its ledger facts, always written together on the same page."""

from dataclasses import dataclass
from typing import Any

from approvals.services.revoke import revoke_in
from executions.capabilities.base import Capability, Effect
from executions.models import Call, Execution
from executions.services import sealed
from executions.services.shapes import Fault
from executions.states import CallStatus, SideEffect
from executions.transitions import move_call
from forge_project.kernel import clock, hot
from forge_project.ledger import operations
from forge_project.ledger.errors import OperationConflict
from forge_project.ledger.operations import Outcome, Tool
from forge_project.ledger.writing import Page

MAX_PURPOSE = 500
QUIET = (Effect.READ, Effect.INTERNAL)  # nothing in the world changes: T1 needs no boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call as the agent asked for it."""

    n: int
    tool: str
    input: Any
    purpose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a call ended: a value or a fault, and what is known of its effect."""

    value: Any = None
    fault: Fault | None = None
    side_effect: SideEffect = SideEffect.NOT_STARTED
    evidence: tuple[dict[str, Any], ...] = ()
    artifact_refs: tuple[str, ...] = ()

    def told(self) -> dict[str, Any]:
        """What the guest hears: {ok, value} or {ok, error}."""
        return {"ok": True, "value": self.value} if self.fault is None else {"ok": False, "error": self.fault.json()}


def open_call(page: Page, execution: Execution, asked: Asked, capability: Capability | None) -> Call:
    """Inserts the call and its function_call event."""
    family = f"{execution.tool_call_id}~{execution.round}" if execution.round else execution.tool_call_id
    call_id = f"{family}:forge:{asked.n}"
    purpose = sealed.said(execution.ref, asked.purpose)[:MAX_PURPOSE]
    call = Call(
        execution=execution,
        round=execution.round,
        n=asked.n,
        call_id=call_id,
        operation_id=operations.operation_id(page.invocation_id, call_id),
        tool=sealed.column(asked.tool[:150]),
        effect=capability.effect.value if capability else "",
        recovery_mode=capability.recovery_mode.value if capability else "",
        input_digest=sealed.digest({"tool": asked.tool, "args": asked.input}),
        sealed_input=sealed.seal(asked.input),
        shown_input=sealed.shown_text(execution.ref, asked.input),
        paths=shown_paths(execution.ref, capability, asked.input) if capability else [],
        purpose=purpose,
        requested_at=clock.now(),
    )
    hot.insert(call)
    operations.request(page, tool(call), purpose, new=True)
    return call


def shown_paths(ref: str, capability: Capability, value: Any, seen: dict[str, Any] | None = None) -> list[str]:
    """The files a call writes, as people may see them."""
    return [sealed.said(ref, path) for path in capability.paths(value, seen)]


def tool(call: Call) -> Tool:
    """The call as the ledger's operation writers name it."""
    return Tool(
        operation_id=call.operation_id,
        call_id=call.call_id,
        tool=call.tool,
        args=sealed.parse(call.shown_input),
        args_digest=call.input_digest,
        recovery_mode=call.recovery_mode,
        effect=call.effect,
    )


def prepare(page: Page, call: Call, attempt: int, precondition: dict[str, Any] | None = None, **seen: Any) -> None:
    """T1: the dispatch fact, and the precondition sealed. `seen`: columns known since (paths).

    A call that ran before in this attempt is a Conflict.
    """
    if not operations.prepare(page, tool(call), attempt):
        raise OperationConflict("this attempt dispatched it already", scan="duplicate_dispatch")
    quiet = call.effect in QUIET
    move_call(
        page,
        call,
        CallStatus.PREPARED,
        attempt=attempt,
        started_at=clock.now(),
        side_effect=SideEffect.NOT_STARTED if quiet else SideEffect.STARTED,
        sealed_precondition=None if precondition is None else sealed.seal(precondition),
        **seen,
    )


def finish(page: Page, call: Call, ended: Ended) -> None:
    """T2: the outcome of a dispatched call."""
    operations.outcome(page, tool(call), outcome(call, ended))
    write_end(page, call, ended)


def refuse(page: Page, call: Call, fault: Fault, *, rejected: bool = True) -> None:
    """Ends a call that was never dispatched: `rejected` by policy, person or cancel; `failed` otherwise."""
    quiet = call.effect in QUIET
    if call.approval_ref:
        revoke_in(page, call.approval_ref, f"the call ended: {fault.code}")  # nothing may be approved that is over
    ended = Ended(fault=fault, side_effect=SideEffect.NOT_STARTED if quiet else SideEffect.NOT_APPLIED)
    # An approved call that is refused before its dispatch was awaiting: it is rejected, whatever the reason.
    failed = not rejected and call.status == CallStatus.REQUESTED
    status = CallStatus.FAILED if failed else CallStatus.REJECTED
    operations.reject(page, tool(call), outcome(call, ended, status))
    write_end(page, call, ended, status)


def outcome(call: Call, ended: Ended, status: CallStatus | None = None) -> Outcome:
    """The outcome as the ledger keeps it: redacted, with the digest of the clear one."""
    told = ended.told()
    return Outcome(
        result=sealed.shown(call.execution_id, told.get("value", told.get("error"))),
        result_digest=sealed.digest(told),
        is_error=ended.fault is not None,
        status=(status or _status(ended)).value,
        side_effect=ended.side_effect.value,
    )


def _status(ended: Ended) -> CallStatus:
    return CallStatus.SUCCEEDED if ended.fault is None else CallStatus.FAILED


def write_end(page: Page, call: Call, ended: Ended, status: CallStatus | None = None) -> None:
    """The call's row at its end; its ledger event is on the page already."""
    told = ended.told()
    move_call(
        page,
        call,
        status or _status(ended),
        side_effect=ended.side_effect,
        sealed_result=sealed.seal(told),
        shown_result=sealed.shown_text(call.execution_id, told.get("value", told.get("error"))),
        result_digest=sealed.digest(told),
        error_code=ended.fault.code if ended.fault else "",
        evidence=sealed.column(sealed.shown(call.execution_id, list(ended.evidence))),
        artifact_refs=list(ended.artifact_refs),
        ended_at=clock.now(),
    )
