"""Reads of approvals."""

import json
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

from approvals.eligibility import is_agent
from approvals.models import Approval
from approvals.states import State
from forge_project.kernel import clock
from forge_project.kernel.errors import Missing
from forge_project.ledger.models import Invocation


def get(ref: str) -> Approval:
    """The approval; raises Missing."""
    found = _rows().filter(pk=ref).first()
    if found is None:
        raise Missing("no such approval", approval=ref)
    return found


def visible_to(user: User) -> QuerySet[Approval]:
    """What `user` may see, newest first: an agent its own, a person with `view_approval` all."""
    rows = _rows().order_by("-requested_at", "-ref")
    if user.has_perm("approvals.view_approval") and not is_agent(user):
        return rows
    return rows.filter(caller=user) if user.is_active else rows.none()


def pending_for(user: User) -> QuerySet[Approval]:
    """What waits for a decision `user` may make, oldest first: never their own, nor what was asked in their name."""
    if not user.has_perm("approvals.decide_approval") or is_agent(user):
        return _rows().none()
    rows = _rows().filter(state=State.PENDING, expires_at__gt=clock.now()).exclude(caller=user)
    return rows.exclude(caller__agent__owner=user).exclude(on_behalf_of=user).order_by("requested_at", "ref")


def as_json(row: Approval) -> dict[str, Any]:
    """The approval as the API shows it."""
    who = row.revoked_by if row.state == State.REVOKED else row.decided_by
    return {
        "approval_ref": row.ref,
        "execution_ref": row.execution_ref,
        "call_id": row.call_id,
        "n": row.n,
        "capability": row.capability,
        "target": row.target,
        "risk": row.risk,
        "state": row.state,
        "version": row.version,
        "fingerprint": row.fingerprint,
        "sentence": row.sentence,
        "preview": json.loads(row.preview),
        "warnings": json.loads(row.warnings),
        "reversible": row.reversible,
        "purpose": row.purpose,
        "requested_at": clock.text(row.requested_at),
        "expires_at": clock.text(row.expires_at),
        "decided_by": who.username if who else None,
        "reason": row.reason,
    }


def _rows() -> QuerySet[Approval]:
    return Approval.objects.select_related("caller", "on_behalf_of", "decided_by", "revoked_by")


def lost_invocations() -> Iterable[str]:
    """Invocations that approvals name and the ledger has no more."""
    gone = Approval.objects.filter(~Exists(Invocation.objects.filter(pk=OuterRef("invocation_id"))))
    return gone.order_by("invocation_id").values_list("invocation_id", flat=True).distinct().iterator(chunk_size=500)
