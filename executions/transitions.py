"""The only writer of `status`: one conditional UPDATE under the invocation's lock, one fact on the same page."""

from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F

from executions.bounds import CallerLoad
from executions.errors import LeaseLost
from executions.models import Call, Execution, Worker
from executions.outbox import logged, tell
from executions.states import CALL_MOVES, MOVES, PAIRS, CallStatus, SideEffect, Status
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict
from forge_project.ledger.events import Event
from forge_project.ledger.writing import Page

# What no transaction of an attempt looks at; read on demand.
_DEFERRED = {
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
}
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
    # Raw: this read is part of every transaction, and building it anew costs more than running it.
    worker = Worker._meta.pk.get_db_prep_value(lease.worker_id, connection)
    row = next(iter(Execution.objects.raw(_held_sql(), [lease.ref, lease.attempt, worker])), None)
    if row is None or row.status not in HOLDING:
        raise LeaseLost("another attempt holds this execution", execution=lease.ref)
    return row


def check_held(lease: Lease) -> None:
    """LeaseLost if another attempt holds the execution by now; without its lock, so only a reason to stop early."""
    mine = Execution.objects.filter(pk=lease.ref, attempt=lease.attempt, worker=lease.worker_id, status__in=HOLDING)
    if not mine.exists():
        raise LeaseLost("another attempt holds this execution", execution=lease.ref)


@cache
def _held_sql() -> str:
    wanted = [str(field.column) for field in Execution._meta.concrete_fields if field.name not in _DEFERRED]
    columns = ", ".join(wanted)
    return f"SELECT {columns} FROM {Execution._meta.db_table} WHERE ref = %s AND attempt = %s AND worker_id = %s"  # noqa: S608


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
    same = Execution.objects.filter(pk=row.pk, status=was, attempt=row.attempt, worker=row.worker_id)
    if same.update(**facts) != 1:
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
    if Call.objects.filter(pk=call.pk, status=was, attempt=call.attempt).update(status=to, **facts) != 1:
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
        CallerLoad.objects.filter(pk=caller_id).update(running=F("running") + running, queued=F("queued") + queued)
