"""Standing approvals: made at a question that waits, with the votes its rule needs; revocable; used by `answer_in`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from uuid6 import uuid7

from approvals import conditions, eligibility, ports, questions, selectors
from approvals.models import MAX_USES, Approval, Grant, GrantVote
from approvals.services import words
from approvals.services.grant_use import answer_in
from approvals.states import Method, Risk, State
from approvals.transitions import lost
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import Conflict, Denied, Invalid
from forge_project.ledger.events import Event, fact
from forge_project.ledger.governance import governing, record
from forge_project.ledger.writing import Page, writing

SECONDS = {"15m": 900, "1h": 3600, "8h": 28_800}
_EXECUTION = 28_800  # one for an execution ends with it, and after a working day anyway


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Who acts, and how and from where they proved it (approvals.proof)."""

    actor: User
    authenticated_at: datetime
    method: Literal["session", "token", "password"]
    session: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeGrant:
    """Let this and similar pass: such as `condition` says, for this execution or some time, at most `uses` times.

    `shown` as in `Decide`.
    """

    approval_ref: str
    version: int
    fingerprint: str
    condition: str
    uses: int
    lasts: Literal["execution", "15m", "1h", "8h"]
    proof: Proof
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteGrant:
    """One person more who agrees to a grant; `shown` as in `Decide`, of the request it was made at while it waits."""

    grant_ref: str
    proof: Proof
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeGrant:
    """A grant that shall not be used any more, and why."""

    grant_ref: str
    actor: User
    reason: str


def make_grant(asked: MakeGrant) -> Grant:
    """The grant; with all votes it answers its question at once. Raises Missing, Invalid, Denied, Conflict."""
    if not 1 <= asked.uses <= MAX_USES:
        raise Invalid(f"1 to {MAX_USES} uses", path="/uses")
    if asked.lasts not in (*SECONDS, "execution"):
        raise Invalid("a grant lasts for the execution, 15m, 1h or 8h", path="/lasts")
    conditions.check(asked.condition)
    row = selectors.get(asked.approval_ref)
    _check_fits(row, asked.condition)
    with writing(row.invocation_id) as page:
        row = Approval.objects.get(pk=row.pk)
        _may_grant(row, asked.proof)
        seen = (State.PENDING, asked.version, asked.fingerprint)
        if (row.state, row.version, row.fingerprint) != seen or row.expires_at <= clock.now():
            lost(row.pk)
        shown = questions.check_shown(row, asked.shown, needed=True)
        grant = _stored(row, asked)
        _vote(page, grant, row, asked.proof, "grant.made", shown=shown)
    return grant


def vote_grant(asked: VoteGrant) -> Grant:
    """The grant with one vote more. Raises Missing, Denied, Conflict."""
    source = selectors.grant(asked.grant_ref).source
    with writing(source.invocation_id) as page:
        grant = Grant.objects.select_for_update(no_key=True).get(pk=asked.grant_ref)
        row = Approval.objects.get(pk=source.pk)
        _may_grant(row, asked.proof)
        if grant.ended_at is not None or grant.lives_until is not None:
            raise Conflict("this grant takes no more votes", grant=grant.pk)
        waits = row.state == State.PENDING
        shown = questions.check_shown(row, asked.shown, needed=True) if waits else row.fingerprint
        _vote(page, grant, row, asked.proof, "grant.voted", shown=shown)
    return grant


def revoke_grant(asked: RevokeGrant) -> Grant:
    """The grant, ended; what it approved and was not used yet can't be any more. Raises Missing, Invalid, Denied."""
    reason = words.required(asked.reason)
    grant = selectors.grant(asked.grant_ref)
    with transaction.atomic():
        actor = User.objects.get(pk=asked.actor.pk)
        eligibility.check_person(actor)
        if not _end(grant, reason, actors.of(actor), by=actor):
            raise Conflict("this grant has ended already", grant=grant.pk)
    return selectors.grant(grant.pk)


def end_grants(caller: User, reason: str, *, actor: str) -> list[str]:
    """Ends every grant of this caller, also those that wait for votes: the refs of those that this ended."""
    ended = []
    for grant in Grant.objects.filter(caller=caller, ended_at=None).order_by("pk"):
        with transaction.atomic():
            if _end(grant, reason, actor):
                ended.append(grant.pk)
    return ended


def _end(grant: Grant, reason: str, actor: str, *, by: User | None = None) -> bool:
    """In the transaction that is open: the grant's row first, governance last, as a vote locks them."""
    standing = Grant.objects.filter(pk=grant.pk, ended_at=None)
    if standing.update(ended_at=clock.now(), ended_by=by, end_reason=reason) != 1:
        return False
    grant.refresh_from_db()  # under our own lock: no use is counted any more
    record("grant.revoked", actor=actor, ref=grant.pk, reason=reason, uses=grant.uses)
    return True


def _check_fits(row: Approval, condition: str) -> None:
    """Similar to this means: this too. Evaluated here, outside any transaction."""
    subject = ports.subject_of(row)
    if subject is None:
        raise Invalid("what this request is about can't be looked at any more", path="/condition")
    subject.look([condition])
    if subject.said(condition) is not True:
        raise Invalid("the condition does not hold for this very request", path="/condition")


def _may_grant(row: Approval, proof: Proof) -> None:
    actor = User.objects.get(pk=proof.actor.pk)
    eligibility.check_may_vote(actor, row)
    if row.risk == Risk.CRITICAL:
        raise Denied("critical requests are approved one by one", rule="grant.critical")
    eligibility.check_fresh(row, Method(proof.method), proof.authenticated_at)


def _stored(row: Approval, asked: MakeGrant) -> Grant:
    here = asked.lasts == "execution"
    where = f" in {row.workspace}" if row.workspace else ""
    long = "in this execution" if here else f"within {asked.lasts}"
    times = "once" if asked.uses == 1 else f"at most {asked.uses} times"
    return Grant.objects.create(
        ref=f"grant_{uuid7().hex}",
        source=row,
        caller_id=row.caller_id,
        execution_ref=row.execution_ref if here else "",
        capability=row.capability,
        workspace=row.workspace,
        condition=asked.condition,
        sentence=f"{row.capability} by {row.caller.username}{where}, {times} {long}, where {asked.condition}",
        rule=row.rule,
        rule_version=row.rule_version,
        approvers=row.approvers,
        votes_needed=row.votes_needed,
        max_uses=asked.uses,
        seconds=_EXECUTION if here else SECONDS[asked.lasts],
        created_at=clock.now(),
    )


def _vote(page: Page, grant: Grant, row: Approval, proof: Proof, name: str, **said: Any) -> None:
    """Under the source's lock; governance is locked last."""
    try:
        GrantVote.objects.create(grant=grant, person=proof.actor, method=proof.method, at=clock.now())
    except IntegrityError:
        raise Conflict("you have voted on this already", rule="approval.voted", grant=grant.pk) from None
    given = sum(eligibility.may_vote(vote.person, row) for vote in grant.votes.select_related("person"))
    if given >= grant.votes_needed:
        until = clock.now() + timedelta(seconds=grant.seconds)
        Grant.objects.filter(pk=grant.pk).update(lives_until=until)
        grant.refresh_from_db()
        if row.state == State.PENDING and answer_in(page, row, [grant.pk]):
            ports.decided(page, row)
    grant.refresh_from_db()
    with governing() as governance:
        governance.add(_fact(name, grant, proof, given, said))


def _fact(name: str, grant: Grant, proof: Proof, given: int, said: dict[str, Any]) -> Event:
    return fact(
        name,
        ref=grant.pk,
        actor=actors.of(proof.actor),
        method=proof.method,
        session=proof.session,
        address=proof.address,
        sentence=grant.sentence,
        source=grant.source_id,
        rule=grant.rule,
        rule_version=grant.rule_version,
        votes=f"{given} of {grant.votes_needed}",
        lives_until=clock.text(grant.lives_until) if grant.lives_until else None,
        **said,
    )
