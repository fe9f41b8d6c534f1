"""Which executions a user may see, and waiting for one to get somewhere."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import DateTimeField, QuerySet, Value
from django.db.models.functions import Coalesce

from approvals.eligibility import is_agent
from executions.models import Execution
from executions.states import TERMINAL, Status
from forge_project.kernel import clock, hot
from forge_project.kernel.errors import Denied, Missing

FIRST_POLL, POLL_GROWTH, LAST_POLL = 0.02, 1.4, 0.2  # seconds: what is short is seen soon, what is long costs little
AT_REST = TERMINAL | {Status.WAITING_APPROVAL, Status.UNKNOWN}  # nothing moves until somebody acts
FILTERS = {
    "status": "status",
    "kind": "kind",
    "capability": "capability",
    "session": "session_id",
    "root_session": "root_session_id",
    "task": "scope__task_id",
    "created_after": "created_at__gte",
    "created_before": "created_at__lt",
}
_LARGE = ("sealed_request", "sealed_start", "sealed_result", "shown_result")
_NOT_YET = datetime(9999, 1, 1, tzinfo=UTC)


def visible_to(user: User) -> QuerySet[Execution]:
    """What `user` may see: their own; with `view_execution` all, but an agent's account never another's."""
    rows = Execution.objects.select_related("workspace", "on_behalf_of")
    if user.has_perm("executions.view_execution") and not is_agent(user):
        return rows
    return rows.filter(caller=user)


def get_for(user: User, ref: str) -> Execution:
    """The execution; Missing where it is not there or not `user`'s to see."""
    found = visible_to(user).filter(pk=ref).first()
    if found is None:
        raise Missing("no such execution", execution=ref)
    return found


def get_to_cancel(user: User, ref: str) -> Execution:
    """As `get_for`, for who may end it: its caller, or with `cancel_execution`. Raises Missing, Denied."""
    found = get_for(user, ref)
    if found.caller_id != user.pk and not user.has_perm("executions.cancel_execution"):
        raise Denied("this needs the permission to cancel executions", rule="execution.cancel")
    return found


def get_to_resolve(user: User, ref: str) -> Execution:
    """As `get_for`, for who may say what became of an effect: an operator, never an agent. Raises Missing, Denied."""
    found = get_for(user, ref)
    if is_agent(user) or not user.has_perm("executions.resolve_execution"):
        raise Denied("this needs the permission to resolve unknown calls", rule="execution.resolve")
    return found


def get_own(user: User, ref: str) -> Execution:
    """As `get_for`, for its caller alone. Raises Missing, Denied."""
    found = get_for(user, ref)
    if found.caller_id != user.pk:
        raise Denied("this is its caller's to say", rule="execution.own")
    return found


def matching(user: User, wanted: Mapping[str, Any]) -> QuerySet[Execution]:
    """Those visible to `user` that fit FILTERS' values; `begun` is started_at, last where not started. No results."""
    fit = {FILTERS[name]: value for name, value in wanted.items() if name in FILTERS}
    begun = Coalesce("started_at", Value(_NOT_YET), output_field=DateTimeField())
    return visible_to(user).filter(**fit).annotate(begun=begun).defer(*_LARGE)


def wait(row: Execution, seconds: int) -> Execution:
    """The row as it is once it rests (finished, or waiting for somebody), at the latest after `seconds`."""
    deadline = clock.monotonic() + seconds
    status, pause = row.status, FIRST_POLL
    while status not in AT_REST and (left := deadline - clock.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = min(pause * POLL_GROWTH, LAST_POLL)
        found = hot.values(Execution, ("status",), {"ref": row.pk})
        if not found:
            raise Missing("no such execution", execution=row.pk)
        status = found[0][0]
    return _again(row) if seconds else row


def _again(row: Execution) -> Execution:
    """The row as it is now; what it points to is not read twice."""
    found = hot.one(Execution, {"ref": row.pk})
    if found is None:
        raise Missing("no such execution", execution=row.pk)
    if found.workspace_id == row.workspace_id:
        found.workspace = row.workspace
    if found.on_behalf_of_id == row.on_behalf_of_id:
        found.on_behalf_of = row.on_behalf_of
    return found
