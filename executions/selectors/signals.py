"""Which signals a user may see, and what each says."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from approvals.eligibility import is_agent
from executions.outbox.models import Signal
from forge_project.kernel import clock

MAX_LIMIT = 100


def visible_to(user: User) -> QuerySet[Signal]:
    """Those of `user`'s own executions; with `acknowledge_signal` all, but an agent's account never another's."""
    rows = Signal.objects.select_related("execution")
    if user.has_perm("executions.acknowledge_signal") and not is_agent(user):
        return rows
    return rows.filter(execution__caller=user)


def pending(user: User) -> QuerySet[Signal]:
    """What `user` may see and nobody has acknowledged."""
    return visible_to(user).filter(acknowledged_at=None)


def payload(row: Signal) -> dict[str, Any]:
    """What is told: where the execution stood then, and the scope it was asked in; never its input or its result."""
    told: dict[str, Any] = {
        "signal_ref": row.ref,
        "kind": row.kind,
        "execution_ref": row.execution_id,
        "attempt": row.attempt,
        "status": row.status,
        "side_effect": row.side_effect,
        "created_at": clock.text(row.created_at),
    }
    optional = {name: getattr(row, name) for name in ("error_code", "approval_ref", "approval_state", "question")}
    scope: dict[str, Any] = row.execution.scope
    return told | scope | {name: value for name, value in optional.items() if value}
