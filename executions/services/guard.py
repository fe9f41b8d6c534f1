"""What must hold at the moment of a dispatch, looked at inside its transaction."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from executions.bounds import Hold
from executions.errors import CancelRequested, DeadlinePassed, GuestEnded, Held, LeaseLost, WorkspaceNotGranted
from executions.models import Execution, Workspace
from executions.selectors import holds
from executions.services import gate
from executions.services.runtime import Runtime
from executions.states import Access
from executions.transitions import Lease, held
from forge_project.kernel import clock, plain
from forge_project.kernel.errors import NotReady, Unidentified
from forge_project.ledger import restoring
from forge_project.ledger.writing import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One attempt's standing conditions: its lease, its worker's heartbeat, its deadline (monotonic seconds)."""

    lease: Lease
    runtime: Runtime
    deadline: float
    ended: threading.Event = field(default_factory=threading.Event)  # the guest has ended: nothing more begins

    def given_up(self) -> bool:
        """Whether what has not begun is not begun any more: the guest has ended, or this worker goes."""
        return self.ended.is_set() or self.runtime.draining.is_set()

    def pass_dispatch(self, page: Page, *, writes: bool, tools: Sequence[str]) -> Execution:
        """The execution, if `tools` may be dispatched for it now; raises what forbids it."""
        execution = held(page, self.lease)
        if self.ended.is_set():
            raise GuestEnded("the script has ended", execution=execution.ref)
        if execution.cancel_requested_at is not None:
            raise CancelRequested("this execution was cancelled", execution=execution.ref)
        if not self.runtime.fresh():
            raise LeaseLost("this worker's heartbeat is too old to begin an effect", execution=execution.ref)
        if clock.monotonic() >= self.deadline or clock.now() >= execution.expires_at:
            raise DeadlinePassed("the execution's time is used up", execution=execution.ref)
        if writes and restoring.behind():
            raise NotReady("the database is older than its checkpoints' sink", part="ledger")
        gate.enter()
        if _still_stands(execution, writes=writes) and (hold := _holds(execution, tools)) is not None:
            raise Held(f"held: {hold.reason}", execution=execution.ref, hold=hold.pk)
        return execution


# Part of every dispatch, and dearer to build by the ORM than to run.
_STANDING = """SELECT u.is_active, a.mode, EXISTS (SELECT 1 FROM executions_hold h WHERE h.released_at IS NULL),
    w.id, w.name, w.kind, w.path, w.isolation, w.network_hosts FROM auth_user u
    LEFT JOIN executions_workspace w ON w.id = %s
    LEFT JOIN executions_workspaceaccess a ON a.user_id = u.id AND a.workspace_id = w.id WHERE u.id = %s"""
_PLACE = ("id", "name", "kind", "path", "isolation", "network_hosts")


def _holds(execution: Execution, tools: Sequence[str]) -> Hold | None:
    return holds.held_by(execution, tools, holds.standing())


def _still_stands(execution: Execution, *, writes: bool) -> bool:
    """Whether any hold stands; the execution's workspace as it is now. Unidentified for an account closed meanwhile,
    WorkspaceNotGranted for a lost grant.
    """
    found = plain.one(_STANDING, [execution.workspace_id, execution.caller_id])
    active, mode, held_back, *place, hosts = found or (False, None, False, None)
    if not active:
        raise Unidentified("the caller's account is not active", caller=execution.caller_ref)
    if execution.workspace_id is not None and (mode is None or (writes and mode != Access.WRITE)):
        raise WorkspaceNotGranted("this workspace is not granted to the caller", rule="workspace.not_granted")
    if execution.workspace_id is not None:
        execution.workspace = Workspace.from_db("default", _PLACE, [*place, json.loads(hosts)])
    return bool(held_back)
