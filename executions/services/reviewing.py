"""Reviewers' part in a call: what they are told, what they said as facts, and what their yes is good for."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from approvals.policy import Verdict
from approvals.reviewers import Case, Ruling, Stage, configured, review
from approvals.services.grant_use import covering
from executions.capabilities.base import Capability, Description, Precondition, Request
from executions.models import Call, Execution
from executions.services import asking, previews, sealed
from executions.services.shapes import Fault
from executions.transitions import Lease, held
from forge_project.kernel import hot
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing

UNRESOLVED = Fault(
    code="DECISION_UNRESOLVED", message="policy wants this reviewed, there is no reviewer, and nobody is asked"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A reviewer's yes: to this call under this version of this rule, in the world as it was seen."""

    rule: str
    version: int
    seen: Precondition
    stage: Stage

    def holds(self, verdict: Verdict, seen: Precondition) -> bool:
        """Whether it still counts at the boundary."""
        same = (self.rule, self.version, self.seen) == (verdict.rule, verdict.version, seen)
        return same and verdict.decision == "REVIEW" and _may_allow(verdict)


def consult(
    lease: Lease, execution: Execution, call: Call, capability: Capability, request: Request, verdict: Verdict
) -> Fault | Passed | None:
    """Asks the reviewers outside any transaction and writes down what they said.

    A fault is a no, Passed a yes; None: a person has to answer, by a standing grant or afresh.
    """
    if not configured() and (settings.FORGE_REVIEW_FALLBACK == "human" or verdict.approval_required):
        return None
    if covering(asking.of_call(execution, capability, call), execution.ref, verdict):
        return None
    try:
        seen = capability.observe(request)
        told = capability.describe(request, seen)
    except Exception:  # asking a person meets it again, and says so
        return None
    if not configured():
        return UNRESOLVED
    ruling = review(_case(execution, call, capability, verdict, told))
    _record(lease, call, ruling)
    last = ruling.statements[-1]
    if ruling.says == "DENY":
        reason = sealed.said(execution.ref, last.reason)
        details = {"rule": verdict.rule, "reviewer": last.stage.value, "reason": reason}
        return Fault(code="POLICY_DENIED", message=f"a reviewer refused this: {reason}", details=details)
    if ruling.says == "ALLOW":
        return Passed(rule=verdict.rule, version=verdict.version, seen=seen, stage=last.stage)
    return None


def mark(execution: Execution, path: str) -> None:
    """The execution's decision path, the weightiest of its calls: human, reason, fast, deterministic."""
    heavier = {"fast": ("reason", "human"), "reason": ("human",), "human": ()}[path]
    hot.update(Execution, {"ref": execution.pk, "decision_path": hot.Not(heavier)}, {"decision_path": path})


def _case(execution: Execution, call: Call, capability: Capability, verdict: Verdict, told: Description) -> Case:
    clear = sealed.unseal(call.sealed_input)
    given = sealed.shown(execution.ref, clear)
    change, hidden = previews.shown_preview(execution.ref, told.preview)
    purpose = call.purpose or execution.purpose
    return Case(
        capability=capability.name,
        effect=capability.effect.value,
        risk=verdict.risk or capability.risk.value,
        caller=asking.caller_name(execution),
        workspace=execution.workspace.name if execution.workspace else "",
        rule=verdict.reason,
        target=told.target,
        sentence=told.sentence,
        reversible=told.reversible,
        given=given,
        change=change,
        purpose=purpose,
        masked=given != clear or bool(hidden),
        may_allow=_may_allow(verdict),
        warned=bool(told.warnings),
    )


def _may_allow(verdict: Verdict) -> bool:
    return verdict.reviewer_may_allow and not verdict.approval_required


def _record(lease: Lease, call: Call, ruling: Ruling) -> None:
    with writing(lease.ref) as page:
        held(page, lease)
        for said in ruling.statements:
            told: dict[str, Any] = {
                "reviewer": said.reviewer,
                "stage": said.stage.value,
                "said": said.said.value,
                "decision": said.counted.value,
                "reason": sealed.said(lease.ref, said.reason),
                "model": sealed.said(lease.ref, said.model),
                "brief": said.brief_digest,
                "whole": said.whole,
                "took_ms": said.took_ms,
            }
            page.add(fact("policy.reviewed", call_id=call.call_id, **told))
