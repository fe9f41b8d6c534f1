"""The only writer of `status`: one conditional UPDATE under the invocation's lock, one fact on the same page."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from executions.bounds import CallerLoad
from executions.errors import LeaseLost
from executions.models import Call, Execution
from executions.outbox import logged, tell
from executions.states import CALL_MOVES, MOVES, PAIRS, CallStatus, SideEffect, Status
from forge_project.kernel import clock, hot
from forge_project.kernel.errors import Conflict
from forge_project.ledger.events import Event
from forge_project.ledger.writing import Page

# What no transaction of an attempt looks at; read on demand.
_DEFERRED = frozenset(
    (
        *("sealed_request", "sealed_start", "sealed_result", "shown_result"),
        *("error_message", "error_details", "metrics", "limits", "progress", "unawaited"),
        *(
            "client_ref",
            "root_session_id",
            "correlation_id",
            "traceparent",
            "code_sha256",
            "engine",
            "isolation",
            "selection_reason",
        ),
    )
)
HOLDING = (Status.RUNNING, Status.STOPPING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One attempt's right to write: held while the row still names this attempt and this worker."""

    ref: str
    attempt: int
    worker_id: UUID


def held(page: Page, lease: Lease) -> Execution:
    """The execution as this attempt still holds it; LeaseLost if another does. `page` is its lock."""
    _same_invocation(page, lease.ref)
    row = hot.one(Execution, _mine(lease), without=_DEFERRED)
    if row is None or row.status not in HOLDING:
        raise LeaseLost("another attempt holds this execution", execution=lease.ref)
    return row


def check_held(lease: Lease) -> None:
    """LeaseLost if another attempt holds the execution by now; without its lock, so only a reason to stop early."""
    if not hot.exists(Execution, _mine(lease) | {"status": HOLDING}):
        raise LeaseLost("another attempt holds this execution", execution=lease.ref)


def _mine(lease: Lease) -> dict[str, Any]:
    return {"ref": lease.ref, "attempt": lease.attempt, "worker_id": lease.worker_id}


def move(page: Page, row: Execution, to: Status, event: Event, *, lease: Lease | None, **facts: Any) -> None:
    """Moves an execution and writes its fact. `lease` is None only in submit, cancel, decided, reconcile, resolve."""
    _same_invocation(page, row.ref)
    was = Status(row.status)
    if to not in MOVES[was]:
        raise Conflict(f"a {was} execution cannot become {to}", execution=row.ref, status=was.value)
    effect = SideEffect(facts.get("side_effect", row.side_effect))
    if effect not in PAIRS[to]:
        raise Conflict(f"{to} does not go with side effect {effect}", execution=row.ref)
    if lease is not None and (row.attempt, row.worker_id) != (lease.attempt, lease.worker_id):
        raise LeaseLost("another attempt holds this execution", execution=row.ref)
    facts = {"status": to, "updated_at": clock.now()} | facts
    if to not in HOLDING:
        facts["worker"] = None
    same = {"ref": row.pk, "status": was, "attempt": row.attempt, "worker_id": row.worker_id}
    if hot.update(Execution, same, facts) != 1:
        raise Conflict("the execution moved on without us", execution=row.ref)
    for name, value in facts.items():
        setattr(row, name, value)
    page.add(event)
    _count(row.caller_id, was, to)
    tell.moved(row, was, to, _reason(event))
    logged.moved(row, was, to, _reason(event))


def _reason(event: Event) -> str:
    """Why, where the fact says so."""
    return str((event.actions or {}).get("forge", {}).get("reason", ""))


def move_call(page: Page, call: Call, to: CallStatus, **facts: Any) -> None:
    """Moves a call; its ledger events are the operation's, added to `page` by the caller (services/journal)."""
    _same_invocation(page, call.execution_id)
    was = CallStatus(call.status)
    if to not in CALL_MOVES[was]:
        raise Conflict(f"a {was} call cannot become {to}", call=call.call_id, status=was.value)
    if hot.update(Call, {"id": call.pk, "status": was, "attempt": call.attempt}, {"status": to} | facts) != 1:
        raise Conflict("the call moved on without us", call=call.call_id)
    call.status = to
    for name, value in facts.items():
        setattr(call, name, value)


def _same_invocation(page: Page, ref: str) -> None:
    if page.family != ref:
        raise Conflict("this page is another execution's", execution=ref)


def _count(caller_id: int, was: Status, to: Status) -> None:
    """The caller's load follows each move, in the same transaction."""
    running = (to in HOLDING) - (was in HOLDING)
    queued = (to == Status.QUEUED) - (was == Status.QUEUED)
    if running or queued:
        hot.update(CallerLoad, {"caller_id": caller_id}, {"running": hot.Plus(running), "queued": hot.Plus(queued)})
