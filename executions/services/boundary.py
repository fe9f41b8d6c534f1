"""The effect boundary: everything that must hold, the approval's consumption and T1 in one transaction."""

from copy import copy
from typing import Any

from approvals.policy import Verdict, judge
from approvals.services.consume import Consume, consume
from executions.capabilities.base import Capability, Precondition
from executions.models import Call, Execution
from executions.services import asking, journal, reviewing, sealed
from executions.services.guard import Guard
from executions.services.reviewing import Passed
from executions.states import CallStatus, SideEffect
from forge_project.kernel import clock, failpoints, hot
from forge_project.kernel.errors import Conflict, Denied
from forge_project.kernel.log.event import event
from forge_project.ledger.writing import Page, writing


class MustAsk(Conflict):
    """Policy wants a person now, where it did not before."""

    code = "APPROVAL_REQUIRED"


class Boundary:
    """What an executor crosses by `begin`, once, right before its first effect."""

    def __init__(
        self, call: Call, execution: Execution, capability: Capability, guard: Guard, passed: Passed | None = None
    ) -> None:
        self._call, self._capability, self._guard, self._passed = call, capability, guard, passed
        self._question = asking.of_call(execution, capability, call)
        self._quiet = call.effect in journal.QUIET
        self.begun: Precondition | None = None

    @property
    def operation_id(self) -> str:
        """Names this operation's traces in the world."""
        return self._call.operation_id

    def begin(self, precondition: Precondition) -> None:
        """T1. Raises what forbids the effect; after it returns the effect may happen, once."""
        if self.begun is not None:
            raise Conflict("the boundary is crossed once", operation=self.operation_id)
        failpoints.reach("t1.before")
        call = asking.settled(lambda: self._cross(precondition), [self._question])
        self._call.__dict__.update(call.__dict__)
        self.begun = precondition
        if not self._quiet:
            told: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool}
            event("executions", "effect_started", execution_ref=self._guard.lease.ref, **told)
        failpoints.reach("t1.after")

    def _cross(self, precondition: Precondition) -> Call:
        call = copy(self._call)  # every write is conditional on what it says; it counts only once committed
        with writing(self._guard.lease.ref) as page:
            execution = self._guard.pass_dispatch(page, writes=not self._quiet, tools=[self._call.tool])
            self._permit(page, call, execution, precondition)
            value = sealed.unseal(call.sealed_input)
            paths = journal.shown_paths(execution.ref, self._capability, value, precondition)
            journal.prepare(page, call, self._guard.lease.attempt, precondition, paths=paths)
            if not self._quiet:
                _mark_started(execution)
        return call

    def _permit(self, page: Page, call: Call, execution: Execution, precondition: Precondition) -> None:
        """Spends the approval of a call that awaited one; another must still be allowed, by policy or a reviewer."""
        question = asking.today(self._question, execution)
        if call.status == CallStatus.AWAITING_APPROVAL:
            consume(
                page,
                Consume(
                    approval_ref=call.approval_ref,
                    execution_ref=execution.ref,
                    call_id=call.call_id,
                    capability=self._capability.name,
                    input=asking.bound_input(call),
                    scope=asking.bound_scope(execution),
                    precondition=precondition,
                    question=question,
                ),
            )
            reviewing.mark(execution, "human")
            return
        verdict = judge(question)
        if verdict.decision == "DENY":
            raise denied(verdict)
        if self._passed is not None and self._passed.holds(verdict, precondition):
            reviewing.mark(execution, self._passed.stage.value)
        elif verdict.decision != "ALLOW":
            raise MustAsk("policy wants a person to look", rule=verdict.rule)


class NoBoundary:
    """A read crosses none."""

    def __init__(self, operation_id: str) -> None:
        self.operation_id = operation_id

    def begin(self, precondition: Precondition) -> None:
        raise AssertionError("a capability declared read or internal has no effect to begin")


def denied(verdict: Verdict) -> Denied:
    """A policy DENY as an error."""
    return Denied(verdict.reason or "policy forbids this", code="POLICY_DENIED", rule=verdict.rule)


def _mark_started(execution: Execution) -> None:
    if execution.side_effect == SideEffect.STARTED:
        return
    first: dict[str, Any] = {} if execution.effect_started_at else {"effect_started_at": clock.now()}
    hot.update(Execution, {"ref": execution.pk}, {"side_effect": SideEffect.STARTED} | first)
