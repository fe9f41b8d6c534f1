"""Whether the rows of an execution are what its events tell."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Count, F, Model, Q

from approvals.models import Approval
from executions.bounds import CallerLoad
from executions.models import Call, Execution
from executions.services.rebuild.fold import Corrupt, Rows, fold
from executions.states import Status
from executions.transitions import HOLDING
from forge_project.kernel import clock
from forge_project.ledger import selectors
from forge_project.ledger.models import Event

Table = Literal["execution", "call", "approval", "load"]
_MOMENTS = frozenset(("decided_at", "ended_at", "consumed_at"))  # by which clock is the writer's matter: there or not


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One column of one row that is not as the events tell; `column` "" = the row itself (missing, or too many)."""

    table: Table
    execution: str
    row: str
    column: str
    live: Any
    rebuilt: Any


def told_of() -> list[str]:
    """The refs of every execution, by its row or by its events, oldest first."""
    opened = Event.objects.filter(kind="execution.submitted", source="forge").values_list("invocation_id", flat=True)
    return sorted({*opened, *Execution.objects.values_list("ref", flat=True)})


def rebuilt(ref: str) -> Rows:
    """The rows of `ref` by its events alone; raises Corrupt."""
    return fold(ref, selectors.family_events(ref))


def differences(refs: Iterable[str]) -> Iterator[Difference]:
    """Every difference of these executions, in their order."""
    for ref in refs:
        try:
            rows = rebuilt(ref)
        except Corrupt as place:
            why = f"LEDGER_CORRUPT {place}"
            yield Difference(table="execution", execution=ref, row=ref, column="", live="", rebuilt=why)
            continue
        live = Execution.objects.filter(pk=ref).first()
        yield from _row("execution", ref, ref, None if live is None else _execution(live), rows.execution or None)
        calls = {call.call_id: _plain(call) for call in Call.objects.filter(execution=ref)}
        yield from _each("call", ref, calls, rows.calls)
        asked = Approval.objects.filter(execution_ref=ref).select_related("decided_by", "revoked_by")
        yield from _each("approval", ref, {row.pk: _approval(row) for row in asked}, rows.approvals)


def loads() -> Iterator[Difference]:
    """Callers whose load is not the count of their executions."""
    runs, waits = Count("pk", filter=Q(status__in=HOLDING)), Count("pk", filter=Q(status=Status.QUEUED))
    found = Execution.objects.values("caller").annotate(runs=runs, waits=waits).values_list("caller", "runs", "waits")
    counted = {caller: (runs, waits) for caller, runs, waits in found}
    for load in CallerLoad.objects.order_by("pk").annotate(who=F("caller__username")):
        live, told = (load.running, load.queued), counted.get(load.pk, (0, 0))
        if live != told:
            both = {"live": live, "rebuilt": told}
            yield Difference(table="load", execution="", row=load.who, column="running, queued", **both)


def _each(table: Table, ref: str, live: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted({*live, *told}):
        yield from _row(table, ref, name, live.get(name), told.get(name))


def _row(
    table: Table, ref: str, name: str, live: Mapping[str, Any] | None, told: Mapping[str, Any] | None
) -> Iterator[Difference]:
    if live is None or told is None:
        if live is not told:
            there, why = ("missing", "there") if live is None else ("there", "no event tells of it")
            yield Difference(table=table, execution=ref, row=name, column="", live=there, rebuilt=why)
        return
    for column, value in told.items():
        now = live[column]
        if (now is None) != (value is None) if column in _MOMENTS else now != value:
            now = clock.text(now) if column in _MOMENTS and now is not None else now
            yield Difference(table=table, execution=ref, row=name, column=column, live=now, rebuilt=value)


def _plain(row: Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def _execution(row: Execution) -> dict[str, Any]:
    return _plain(row) | {"worker": str(row.worker_id or "")}


def _approval(row: Approval) -> dict[str, Any]:
    who = {"decided_by": row.decided_by, "revoked_by": row.revoked_by}
    return _plain(row) | {name: user.username if user else "" for name, user in who.items()}
