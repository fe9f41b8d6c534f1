"""Accepts a request: durable before anything is decided, once per idempotency key."""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError
from uuid6 import uuid7

from approvals.models import Agent
from executions.errors import IdempotencyConflict
from executions.models import Execution, Workspace, WorkspaceAccess
from executions.services import hints, sealed, volume
from executions.services.places import counted, take_place
from executions.services.rounds import ask_again, may_ask_again
from executions.services.submission import Submission
from executions.states import Kind, SideEffect, Status
from executions.transitions import move
from forge_project.kernel import actors, clock, failpoints, hot
from forge_project.kernel.errors import Denied, TooMany, Unidentified
from forge_project.kernel.log import trace
from forge_project.kernel.log.event import event
from forge_project.ledger.events import Identity, fact
from forge_project.ledger.writing import writing

CONTRACT = 1  # a newer meaning of the same words would be another request
_ANSWER_SECONDS = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The execution, and whether this call made it, or made a new round of it."""

    execution: Execution
    created: bool


def submit(asked: Submission) -> Submitted:
    """The execution of this key, new or as it is. Raises Unidentified, Denied, IdempotencyConflict, TooMany."""
    try:
        return _submit(asked)
    except (Unidentified, Denied, TooMany) as refused:
        name = "queue_rejected" if isinstance(refused, TooMany) else "admission_rejected"
        who = actors.of(asked.caller)
        event("executions", name, caller=who, capability=asked.capability, error_code=refused.code)
        raise


def _submit(asked: Submission) -> Submitted:
    bound = _bound(asked)
    found = _find(asked, bound)
    if found is not None and not may_ask_again(found.execution):
        return found
    on_behalf_of = _principal(asked)
    workspace = _workspace(asked)
    with counted(asked.caller):
        volume.refuse_over(asked.caller)
        return _begin(asked, bound, found, workspace, on_behalf_of)


def _begin(
    asked: Submission,
    bound: dict[str, Any],
    found: Submitted | None,
    workspace: Workspace | None,
    on_behalf_of: User | None,
) -> Submitted:
    """A new round of what was found, or a new execution."""
    if found is not None:
        again = ask_again(found.execution.ref, asked, on_behalf_of, _expiry())
        if again is None:  # another was first; this one finds what that one made
            return _find(asked, bound) or found
        return Submitted(execution=again, created=True)
    try:
        execution = _accept(asked, bound, workspace, on_behalf_of)
    except IntegrityError:
        # Another request with this key was first; without one, the fault is a client_ref that is taken.
        if (found := _find(asked, bound)) is not None:
            return found
        raise IdempotencyConflict("this client_ref names another execution", path="/client_ref") from None
    failpoints.reach("submit.after_commit")
    return Submitted(execution=execution, created=True)


def lookup(asked: Submission) -> Execution | None:
    """The execution this very request made, if it did; starts nothing."""
    found = _find(asked, _bound(asked))
    return found.execution if found else None


def _find(asked: Submission, bound: dict[str, Any]) -> Submitted | None:
    mine = {"caller_id": asked.caller.pk, "capability": asked.capability, "idempotency_key": asked.key}
    row = hot.one(Execution, mine)
    if row is None:
        return None
    if not settings.FORGE_FINGERPRINTS.match(row.input_fingerprint, bound):
        raise IdempotencyConflict("this key names another request", execution=row.ref)
    return Submitted(execution=row, created=False)


def _bound(asked: Submission) -> dict[str, Any]:
    """What the fingerprint covers."""
    covered = {
        "contract": CONTRACT,
        "capability": asked.capability,
        "request": asked.request,
        "caller": asked.caller.get_username(),
        "workspace": asked.workspace,
        "scope": {name: value for name, value in asked.scope.items() if name != "run_no"},
    }
    if asked.kind == Kind.SCRIPT:
        covered |= {"limits": asdict(asked.limits), "session_id": asked.ids.get("session_id", "")}
    return covered


def _principal(asked: Submission) -> User | None:
    """Checks who asks; the user on whose behalf, if one is named."""
    if not asked.caller.is_active:
        raise Unidentified("this account is not active")
    agent = hot.one(Agent, {"user_id": asked.caller.pk})
    if agent is None:
        raise Denied("only an agent's account submits work", rule="caller.no_agent")
    if not asked.on_behalf_of:
        return None
    found = agent.acts_for.filter(username=asked.on_behalf_of, is_active=True).first()
    if found is None:
        raise Denied("this agent may not act for that user", rule="caller.on_behalf_of", path="/on_behalf_of")
    return found


def _workspace(asked: Submission) -> Workspace | None:
    if not asked.workspace:
        return None
    row = hot.one(Workspace, {"name": asked.workspace})
    granted = {"user_id": asked.caller.pk}
    if row is None or not hot.exists(WorkspaceAccess, granted | {"workspace_id": row.pk}):
        # Not there and not granted look alike from outside.
        raise Denied("this workspace is not granted to the caller", rule="workspace.not_granted", path="/workspace")
    return row


def _accept(
    asked: Submission, bound: dict[str, Any], workspace: Workspace | None, on_behalf_of: User | None
) -> Execution:
    ref = f"exec_{uuid7().hex}"
    row = _row(ref, asked, bound, workspace, on_behalf_of)
    identity = Identity(
        invocation_id=ref, session_id=row.session_id, run_id=row.run_id, turn_id=row.turn_id, owner=row.caller_ref
    )
    with writing(ref, opening=identity) as page:
        hot.insert(row)
        page.add(_submitted(row))
        queued = fact("execution.queued", reason="submitted")
        take_place(asked.caller)
        move(page, row, Status.QUEUED, queued, lease=None)
        volume.account(row)
        failpoints.reach("submit.before_commit")
        hints.send_on_commit()
    return row


def _expiry() -> datetime:
    """When an execution that nobody answers ends."""
    waits = _ANSWER_SECONDS + settings.FORGE_APPROVAL_PENDING_SECONDS + settings.FORGE_APPROVAL_UNUSED_SECONDS
    return clock.now() + timedelta(seconds=waits)


def _row(
    ref: str, asked: Submission, bound: dict[str, Any], workspace: Workspace | None, on_behalf_of: User | None
) -> Execution:
    now = clock.now()
    ids = {name: asked.ids.get(name, ref) for name in ("session_id", "run_id", "turn_id", "tool_call_id")}
    source = asked.request.get("source")
    return Execution(
        ref=ref,
        kind=asked.kind,
        capability=asked.capability,
        status=Status.VALIDATING,
        side_effect=SideEffect.NOT_STARTED,
        caller=asked.caller,
        caller_ref=actors.of(asked.caller),
        on_behalf_of=on_behalf_of,
        workspace=workspace,
        idempotency_key=asked.key,
        client_ref=asked.ids.get("client_ref", ""),
        root_session_id=asked.ids.get("root_session_id", ids["session_id"]),
        correlation_id=asked.ids.get("correlation_id", trace.current("correlation_id")),
        traceparent=trace.current("traceparent") or trace.made(),
        analysis_ref=asked.ids.get("analysis_ref", ""),
        **ids,
        scope=asked.scope,
        purpose=sealed.said(ref, asked.purpose)[:500],
        interruption=asked.interruption,
        timeout_ms=asked.timeout_ms,
        limits=asdict(asked.limits),
        input_fingerprint=sealed.digest(bound),
        code_sha256=hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest() if source is not None else "",
        sealed_request=sealed.seal(asked.request),
        bytes=volume.size(asked.request),
        created_at=now,
        updated_at=now,
        expires_at=_expiry(),
    )


def _submitted(row: Execution) -> Any:
    told = {
        "kind": row.kind,
        "capability": row.capability,
        "workspace": row.workspace.name if row.workspace else "",
        "idempotency_key": row.idempotency_key,
        "scope": row.scope,
        "interruption": row.interruption,
        "timeout_ms": row.timeout_ms,
        "limits": row.limits,
        "input_fingerprint": row.input_fingerprint,
        "code_sha256": row.code_sha256,
        "on_behalf_of": row.on_behalf_of.get_username() if row.on_behalf_of else "",
        "purpose": row.purpose,
        "analysis_ref": row.analysis_ref,
    }
    return fact("execution.submitted", **sealed.shown(row.ref, told))
