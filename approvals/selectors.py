"""Reads of approvals."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals import ports, questions
from approvals.eligibility import is_agent
from approvals.models import Approval, Grant
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
    mine = Q(approvers="") | Q(approvers__in=user.groups.values("name"))
    rows = _rows().filter(mine, state=State.PENDING, expires_at__gt=clock.now()).exclude(caller=user)
    rows = rows.exclude(votes__person=user)
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
        "votes_needed": row.votes_needed,
        "voted": [vote.person.username for vote in row.votes.select_related("person").order_by("pk")],
        "approvers": row.approvers,
        "grant": row.grant or None,
        "questions": questions.as_json(row),
        "shown": questions.shown(row),
    }


def grant(ref: str) -> Grant:
    """The standing grant; raises Missing."""
    found = _grants().filter(pk=ref).first()
    if found is None:
        raise Missing("no such grant", grant=ref)
    return found


def grants_visible_to(user: User) -> QuerySet[Grant]:
    """Standing grants, newest first, by the same rule as approvals."""
    rows = _grants().order_by("-created_at", "-ref")
    if user.has_perm("approvals.view_approval") and not is_agent(user):
        return rows
    return rows.filter(caller=user) if user.is_active else rows.none()


def grant_json(row: Grant) -> dict[str, Any]:
    """The grant as the API shows it."""
    return {
        "grant_ref": row.ref,
        "approval_ref": row.source_id,
        "execution_ref": row.execution_ref or None,
        "caller": row.caller.username,
        "capability": row.capability,
        "workspace": row.workspace,
        "condition": row.condition,
        "sentence": row.sentence,
        "rule": row.rule,
        "rule_version": row.rule_version,
        "votes_needed": row.votes_needed,
        "voted": [vote.person.username for vote in row.votes.select_related("person").order_by("pk")],
        "uses": row.uses,
        "max_uses": row.max_uses,
        "created_at": clock.text(row.created_at),
        "lives_until": clock.text(row.lives_until) if row.lives_until else None,
        "ended_at": clock.text(row.ended_at) if row.ended_at else None,
        "ended_by": row.ended_by.username if row.ended_by else None,
        "end_reason": row.end_reason,
    }


def _grants() -> QuerySet[Grant]:
    return Grant.objects.select_related("caller", "ended_by")


def _rows() -> QuerySet[Approval]:
    rows = Approval.objects.select_related("caller", "on_behalf_of", "decided_by", "revoked_by")
    return rows.prefetch_related("votes__person", "questions__asked_by")


def lost_invocations() -> Iterable[str]:
    """Invocations that approvals name and the ledger has no more."""
    gone = Approval.objects.filter(~Exists(Invocation.objects.filter(pk=OuterRef("invocation_id"))))
    return gone.order_by("invocation_id").values_list("invocation_id", flat=True).distinct().iterator(chunk_size=500)
