"""Reads of approvals."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

from approvals import ports
from approvals.eligibility import is_agent
from approvals.models import Approval
from approvals.policy import asked_outside
from approvals.states import State
from forge_project.kernel import clock
from forge_project.kernel.errors import Invalid, Missing
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


MAX_EXAMPLES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What policy says of one example, and whether that is as expected."""

    said: str
    right: bool


def try_examples(examples: Any) -> list[Tried]:
    """Judges a list of examples {caller, workspace, capability, input, expect?, rule?}. Raises Invalid (path)."""
    if not isinstance(examples, list) or len(examples) > MAX_EXAMPLES:
        raise Invalid(f"examples are a list of at most {MAX_EXAMPLES}", path="")
    tried = []
    for n, example in enumerate(examples):
        if not isinstance(example, dict):
            raise Invalid(f"example {n} is no object", path=f"/{n}")
        try:
            verdict = asked_outside(ports.pose(example))
        except Invalid as fault:
            raise Invalid(f"example {n}: {fault.message}", path=f"/{n}{fault.facts.get('path', '')}") from None
        found = {"expect": verdict.decision.value, "rule": verdict.rule}
        right = all(example.get(name, value) == value for name, value in found.items())
        said = f"{verdict.decision.value} by {verdict.rule} v{verdict.version}: {example.get('caller') or 'anybody'}, "
        wanted = " ".join(str(example[name]) for name in found if name in example)
        tried.append(
            Tried(said=f"{said}{example['capability']}" + ("" if right else f" (expected {wanted})"), right=right)
        )
    return tried


def denied_before(row: Approval, most: int = 3) -> list[Approval]:
    """The same question of the same caller, denied: newest first."""
    same = {"caller": row.caller_id, "capability": row.capability, "input_fingerprint": row.input_fingerprint}
    return list(_rows().filter(state=State.DENIED, **same).exclude(pk=row.pk).order_by("-decided_at")[:most])


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
