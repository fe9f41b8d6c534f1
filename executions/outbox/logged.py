"""The log's lines about executions: written once what they say is committed."""

from functools import partial
from typing import Any

from django.db import transaction

from executions.models import Execution
from executions.states import Status
from forge_project.kernel.log.event import event

_SCOPE = {"task_id": "task", "node_id": "node", "run_no": "run", "role_ref": "role", "worker_ref": "worker"}
_ENTERED: dict[Status, str] = {
    Status.RUNNING: "started",
    Status.WAITING_APPROVAL: "parked",
    Status.STOPPING: "stopping",
    Status.UNKNOWN: "recovery_pending",
    Status.SUCCEEDED: "succeeded",
    Status.FAILED: "failed",
    Status.TIMED_OUT: "terminated",
    Status.CANCELLED: "cancelled",
}
_QUEUED_FROM: dict[Status, str] = {
    Status.VALIDATING: "intent_persisted",
    Status.WAITING_APPROVAL: "queued",
    Status.RUNNING: "recovery_pending",
    Status.UNKNOWN: "recovery_pending",
    Status.FAILED: "redecision_requested",
    Status.TIMED_OUT: "redecision_requested",
}


def moved(execution: Execution, was: Status, to: Status, reason: str) -> None:
    """Called by `transitions.move`; a move that is rolled back is not told."""
    name = _QUEUED_FROM[was] if to == Status.QUEUED else _ENTERED[to]
    if reason == "drained":
        name = "given_back"
    told = of(execution) | {"attempt": execution.attempt, "reason": reason}
    transaction.on_commit(partial(event, "executions", name, **told), robust=True)


def of(execution: Execution) -> dict[str, Any]:
    """What every line about an execution has; columns that were not read are bound to the attempt's thread."""
    there = execution.__dict__
    told = {name: there.get(name, "") for name in ("correlation_id", "traceparent", "capability", "error_code")}
    scope = {short: there.get("scope", {}).get(name) for name, short in _SCOPE.items()}
    return told | scope | {"execution_ref": execution.pk, "status": str(there.get("status", ""))}
