"""Ask a person about one call."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from uuid6 import uuid7

from approvals.models import Approval
from approvals.policy import Verdict, snapshot
from approvals.services.revoke import revoke_in
from approvals.states import LIVE, Decision, Effect, Risk, State
from forge_project.kernel import actors, canonical, clock
from forge_project.kernel.errors import Denied, TooMany
from forge_project.ledger.events import Event, fact
from forge_project.ledger.writing import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question: who asks for what under which verdict, what the answer is tied to, and what is shown.

    `input`, `scope` and `precondition` are JSON in the clear, kept as keyed digests only; `sentence`, `preview`
    (JSON), `warnings` and `target` are stored and shown, so already redacted; `purpose` is the agent's own words.
    """

    execution_ref: str
    call_id: str
    n: int
    caller: User
    capability: str
    effect: str
    network: bool
    risk: str
    verdict: Verdict
    input: Any
    scope: Any
    precondition: Any
    sentence: str
    preview: Any
    reversible: bool
    target: str = ""
    warnings: Sequence[str] = ()
    purpose: str = ""
    workspace: str = ""
    on_behalf_of: User | None = None


def ask(page: Page, asked: Ask) -> Approval:
    """The call's live approval: the same question's is returned, another's is superseded. Raises TooMany, Denied.

    Locks the caller's user row; call it before taking the caller's load.
    """
    if asked.verdict.decision == Decision.DENY:  # final: never shown to a person
        raise Denied(asked.verdict.reason or "refused by policy", code="POLICY_DENIED", rule=asked.verdict.rule)
    shown = _shown(asked)
    live = Approval.objects.filter(execution_ref=asked.execution_ref, call_id=asked.call_id, state__in=LIVE).first()
    if live is not None and settings.FORGE_FINGERPRINTS.match(live.fingerprint, shown):
        return live
    if live is not None:
        revoke_in(page, live.pk, "superseded")
    _leave_room(asked.caller)
    row = _stored(page, asked, shown, supersedes=live.pk if live else "")
    page.add(_fact(row))
    return row


def _shown(asked: Ask) -> dict[str, Any]:
    """All that a decision is about: change any of it and it is another question."""
    return {
        "execution": [asked.execution_ref, asked.call_id],
        "capability": [asked.capability, asked.target, asked.risk, asked.reversible],
        "input": asked.input,
        "scope": asked.scope,
        "precondition": asked.precondition,
        "rule": [asked.verdict.rule, asked.verdict.version, asked.verdict.snapshot()],
        "sentence": asked.sentence,
        "preview": asked.preview,
        "warnings": list(asked.warnings),
    }


def _leave_room(caller: User) -> None:
    """Counts under the caller's row lock: two executions asking at once can't both take the last place."""
    User.objects.select_for_update(no_key=True).get(pk=caller.pk)
    if Approval.objects.filter(caller=caller, state=State.PENDING).count() >= settings.FORGE_CALLER_PENDING:
        limit = settings.FORGE_CALLER_PENDING
        raise TooMany("too many requests wait for a person", limit=limit, rule="approval.pending", retry_after=60)


def _stored(page: Page, asked: Ask, shown: dict[str, Any], *, supersedes: str) -> Approval:
    digest, now = settings.FORGE_FINGERPRINTS.of, clock.now()
    return Approval.objects.create(
        ref=f"appr_{uuid7().hex}",
        invocation_id=page.invocation_id,
        execution_ref=asked.execution_ref,
        call_id=asked.call_id,
        n=asked.n,
        caller=asked.caller,
        caller_ref=actors.of(asked.caller),
        on_behalf_of=asked.on_behalf_of,
        workspace=asked.workspace,
        capability=asked.capability,
        target=asked.target,
        risk=Risk(asked.risk),
        effect=Effect(asked.effect),
        network=asked.network,
        rule=asked.verdict.rule,
        rule_version=asked.verdict.version,
        snapshot=snapshot(asked.verdict),
        votes_needed=asked.verdict.votes,
        approvers=asked.verdict.approvers,
        input_fingerprint=digest(asked.input),
        scope_fingerprint=digest(asked.scope),
        precondition_fingerprint=digest(asked.precondition),
        fingerprint=digest(shown),
        sentence=asked.sentence,
        preview=canonical.text(asked.preview),
        warnings=canonical.text(list(asked.warnings)),
        reversible=asked.reversible,
        purpose=asked.purpose,
        requested_at=now,
        expires_at=now + timedelta(seconds=asked.verdict.ttl_seconds or settings.FORGE_APPROVAL_PENDING_SECONDS),
        supersedes=supersedes,
    )


def _fact(row: Approval) -> Event:
    bound = {
        "input": row.input_fingerprint,
        "scope": row.scope_fingerprint,
        "precondition": row.precondition_fingerprint,
        "rule": row.rule,
        "rule_version": row.rule_version,
        "votes": row.votes_needed,
    }
    return fact(
        "approval.requested",
        ref=row.pk,
        call_id=row.call_id,
        capability=row.capability,
        target=row.target,
        risk=row.risk,
        sentence=row.sentence,
        shown=row.fingerprint,
        bound=bound,
        expires_at=clock.text(row.expires_at),
        supersedes=row.supersedes,
    )
