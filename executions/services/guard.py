"""What must hold at the moment of a dispatch, looked at inside its transaction."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from executions.errors import CancelRequested, DeadlinePassed, LeaseLost, WorkspaceNotGranted
from executions.models import Execution, WorkspaceAccess
from executions.services.runtime import Runtime
from executions.states import Access
from executions.transitions import Lease, held
from forge_project.kernel import clock
from forge_project.kernel.errors import Unidentified
from forge_project.ledger.writing import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One attempt's standing conditions: its lease, its worker's heartbeat, its deadline (monotonic seconds)."""

    lease: Lease
    runtime: Runtime
    deadline: float

    def pass_dispatch(self, page: Page, *, writes: bool) -> Execution:
        """The execution, if something may be dispatched for it now; raises what forbids it."""
        execution = held(page, self.lease)
        if execution.cancel_requested_at is not None:
            raise CancelRequested("this execution was cancelled", execution=execution.ref)
        if not self.runtime.fresh():
            raise LeaseLost("this worker's heartbeat is too old to begin an effect", execution=execution.ref)
        if clock.monotonic() >= self.deadline or clock.now() >= execution.expires_at:
            raise DeadlinePassed("the execution's time is used up", execution=execution.ref)
        still_identified(execution)
        still_granted(execution, writes=writes)
        return execution


def still_identified(execution: Execution) -> None:
    """Unidentified if the caller's account was closed meanwhile."""
    if not User.objects.filter(pk=execution.caller_id, is_active=True).exists():
        raise Unidentified("the caller's account is not active", caller=execution.caller_ref)


def still_granted(execution: Execution, *, writes: bool) -> None:
    """WorkspaceNotGranted if the caller may not use the execution's workspace (any more)."""
    if execution.workspace_id is None:
        return
    granted = WorkspaceAccess.objects.filter(workspace=execution.workspace_id, user=execution.caller_id)
    mode = granted.values_list("mode", flat=True).first()
    if mode is None or (writes and mode != Access.WRITE):
        raise WorkspaceNotGranted("this workspace is not granted to the caller", rule="workspace.not_granted")
