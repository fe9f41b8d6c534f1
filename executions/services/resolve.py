"""An operator says what became of an unknown effect; only then does its execution end, or its script go on."""

from dataclasses import dataclass
from typing import Any, Literal

from jsonschema import Draft202012Validator

from executions.capabilities.base import fault_of_schema
from executions.models import Call, Execution
from executions.sandbox.limits import Limits
from executions.sandbox.outward import refuse_result
from executions.sandbox.shapes import NO_VALUE, NoValue
from executions.services import after_unknown, catalog, journal, sealed
from executions.services.journal import Ended
from executions.services.shapes import Fault
from executions.states import CallStatus, SideEffect, Status
from forge_project.kernel import clock, strict_json
from forge_project.kernel.errors import Conflict, ForgeError, Invalid, Missing
from forge_project.ledger import aftermath
from forge_project.ledger.aftermath import Resolution
from forge_project.ledger.writing import Page, writing

MAX_REASON, MAX_PIECES, MAX_PIECE = 500, 20, 1000
_MOST_CALLS = 10**9
NOT_APPLIED = Fault(code="INTERRUPTED", message="an operator found that this was not applied", retryable=True)
Observed = Literal["applied", "not_applied"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """What `actor` found out about call `n`, why they say so and what shows it.

    `result` is what the caller is told of an applied one; null without it.
    """

    execution_ref: str
    n: int
    actor: str  # user:<username>
    observed: Observed
    reason: str
    evidence: tuple[str, ...]
    result: Any | NoValue = NO_VALUE


def resolve(asked: Resolve) -> Execution:
    """The execution as it is now. Raises Invalid, Missing; Conflict for a call (or execution) that is not unknown."""
    reason = _checked(asked)
    with writing(asked.execution_ref) as page:
        execution = Execution.objects.select_related("workspace", "on_behalf_of").get(pk=asked.execution_ref)
        call = Call.objects.filter(execution=execution, n=asked.n).order_by("-pk").first()
        if call is None:
            raise Missing("this execution has no such call", execution=execution.ref, n=asked.n)
        if call.status != CallStatus.UNKNOWN or execution.status != Status.UNKNOWN:
            raise Conflict("this call is not unknown", n=asked.n, status=call.status, execution_status=execution.status)
        _refuse_misfit(execution, call, asked)
        _write(page, call, asked, reason)
        Execution.objects.filter(pk=execution.pk).update(updated_at=clock.now())
        after_unknown.go_on(page, execution)
    execution.refresh_from_db()
    return execution


def _checked(asked: Resolve) -> str:
    """The reason, trimmed."""
    reason = asked.reason.strip()
    if asked.observed not in ("applied", "not_applied"):
        raise Invalid("say what was observed: applied or not_applied", path="/observed")
    strict_json.refuse_faults({"reason": reason, "evidence": list(asked.evidence)})
    if not reason or len(reason) > MAX_REASON:
        raise Invalid(f"say why, in 1-{MAX_REASON} characters", path="/reason")
    if not 1 <= len(asked.evidence) <= MAX_PIECES:
        raise Invalid(f"say what shows it, in 1-{MAX_PIECES} pieces", path="/evidence")
    for at, piece in enumerate(asked.evidence):
        if not piece.strip() or len(piece) > MAX_PIECE:
            raise Invalid(f"a piece of evidence has 1-{MAX_PIECE} characters", path=f"/evidence/{at}")
    if not 1 <= asked.n <= _MOST_CALLS:
        raise Missing("this execution has no such call", execution=asked.execution_ref, n=asked.n)
    if asked.observed == "not_applied" and asked.result is not NO_VALUE:
        raise Invalid("what was not applied has no result", path="/result")
    return reason


def _refuse_misfit(execution: Execution, call: Call, asked: Resolve) -> None:
    """A result is one that the capability could have given, and that may cross to the script."""
    if asked.result is NO_VALUE:
        return
    capability = catalog.find(call.tool)
    try:
        refuse_result(asked.result, Limits(**execution.limits))
        if capability is not None:
            for error in Draft202012Validator(capability.result_schema).iter_errors(asked.result):
                raise fault_of_schema(error)
    except ForgeError as refused:
        raise Invalid(refused.message, **refused.facts | {"path": f"/result{refused.facts.get('path', '')}"}) from None


def _write(page: Page, call: Call, asked: Resolve, reason: str) -> None:
    seen = {"kind": "operator", "actor": asked.actor, "observed": asked.observed, "reason": reason}
    shown = sealed.shown(call.execution_id, seen | {"said": list(asked.evidence)})
    applied = asked.observed == "applied"
    ended = Ended(
        value=None if asked.result is NO_VALUE else asked.result,
        fault=None if applied else NOT_APPLIED,
        side_effect=SideEffect.APPLIED if applied else SideEffect.NOT_APPLIED,
        evidence=(*call.evidence, shown),
        artifact_refs=tuple(call.artifact_refs),
    )
    found = Resolution(
        became=asked.observed,
        actor=asked.actor,
        reason=shown["reason"],
        evidence=tuple(shown["said"]),
        outcome=journal.outcome(call, ended),
    )
    aftermath.resolve(page, journal.tool(call), found)
    journal.write_end(page, call, ended, CallStatus.RESOLVED)
