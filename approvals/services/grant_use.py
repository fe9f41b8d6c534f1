"""Uses of a standing grant: each one answers one question, as an ordinary approval that names it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F

from approvals import eligibility
from approvals.conditions import Subject
from approvals.models import Approval, Grant
from approvals.policy import Question, Verdict
from approvals.states import Decision, Risk, State
from approvals.transitions import move
from forge_project.kernel import actors, clock
from forge_project.ledger.writing import Page


def covering(question: Question, execution_ref: str, verdict: Verdict) -> list[str]:
    """The standing grants whose condition holds for this call, those that end first first. Outside a transaction."""
    if verdict.decision != Decision.REVIEW or question.subject is None or _risk(question, verdict) == Risk.CRITICAL:
        return []
    standing = Grant.objects.filter(
        caller__username=question.caller,
        capability=question.capability,
        workspace=question.workspace,
        execution_ref__in=["", execution_ref],
        rule=verdict.rule,
        rule_version=verdict.version,
        ended_at=None,
        lives_until__gt=clock.now(),
        uses__lt=F("max_uses"),
    ).order_by("lives_until", "pk")
    return [grant.pk for grant in standing if _holds(question.subject, grant.condition)]


def answer_in(page: Page, row: Approval, refs: Sequence[str]) -> bool:
    """Approves a pending question by the first of these grants that still has a use left, and takes that use.

    In the transaction of `page`; `row` is as it is then. What binds it is looked at again; False: a person must answer.
    """
    for ref in refs:
        grant = Grant.objects.filter(pk=ref).first()
        if grant is None or not _covers(grant, row):
            continue
        now = clock.now()
        left = Grant.objects.filter(pk=ref, ended_at=None, lives_until__gt=now, uses__lt=F("max_uses"))
        if left.update(uses=F("uses") + 1) == 1:
            return _approve(page, row, grant)
    return False


def stands(ref: str) -> bool:
    """Whether a grant that answered a question still holds: neither revoked nor over."""
    return Grant.objects.filter(pk=ref, ended_at=None, lives_until__gt=clock.now()).exists()


def _covers(grant: Grant, row: Approval) -> bool:
    same = (grant.caller_id, grant.capability, grant.workspace, grant.rule, grant.rule_version)
    voters = [vote.person for vote in grant.votes.select_related("person")]
    return (
        row.state == State.PENDING
        and row.risk != Risk.CRITICAL
        and same == (row.caller_id, row.capability, row.workspace, row.rule, row.rule_version)
        and grant.execution_ref in ("", row.execution_ref)
        and sum(eligibility.may_vote(person, row) for person in voters) >= max(grant.votes_needed, row.votes_needed)
    )


def _approve(page: Page, row: Approval, grant: Grant) -> bool:
    grant.refresh_from_db()
    vote = grant.votes.order_by("pk").select_related("person")[0]
    now = clock.now()
    reason = f"standing grant, use {grant.uses} of {grant.max_uses}"
    said = {"decision": "approve", "actor": actors.of(vote.person), "reason": reason, "method": vote.method,
            "grant": grant.pk, "shown": row.fingerprint}  # fmt: skip
    columns: dict[str, Any] = {
        "grant": grant.pk,
        "decided_by": vote.person,
        "decided_at": now,
        "reason": reason,
        "authentication": vote.method,
        "expires_at": now + timedelta(seconds=settings.FORGE_APPROVAL_UNUSED_SECONDS),
    }
    if not move(page, row, State.APPROVED, where={"state": State.PENDING}, said=said, **columns):
        raise AssertionError(f"{row.pk} moved under its own lock")
    return True


def _holds(subject: Subject, condition: str) -> bool:
    subject.look([condition])
    return subject.said(condition) is True


def _risk(question: Question, verdict: Verdict) -> str:
    return verdict.risk or question.risk
