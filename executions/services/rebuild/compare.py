"""Whether the rows of an execution are what its events tell."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Count, F, Model, Q

from approvals.models import Approval, Question
from executions.bounds import CallerLoad
from executions.models import Call, Execution
from executions.services.rebuild.fold import Corrupt, fold
from executions.states import Status
from executions.transitions import HOLDING
from forge_project.kernel import clock
from forge_project.ledger.models import Event, Invocation, Tombstone
from forge_project.ledger.writing import writing

Table = Literal["execution", "call", "approval", "question", "load"]
_AT_ONCE = 100
_MOMENTS = frozenset(
    ("decided_at", "ended_at", "consumed_at", "asked_at", "answered_at")
)  # by which clock is the writer's matter: there or not


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


def differences(refs: Iterable[str], progress: Callable[[int], object] | None = None) -> Iterator[Difference]:
    """Every difference of these executions, in their order; a few statements for each hundred of them."""
    left = list(refs)
    while left:
        some, left = left[:_AT_ONCE], left[_AT_ONCE:]
        yield from _of(some)
        if progress is not None:
            progress(len(some))


def settled_differences(refs: Iterable[str], progress: Callable[[int], object] | None = None) -> Iterator[Difference]:
    """As `differences`, while everything runs: what seems to differ is looked at again under its lock."""
    doubtful = list(dict.fromkeys(one.execution for one in differences(refs, progress)))
    for ref in doubtful:
        if not Invocation.objects.filter(pk=ref).exists():
            yield from differences([ref])
            continue
        with writing(ref):
            again = list(differences([ref]))
        yield from again


def _of(refs: list[str]) -> Iterator[Difference]:
    removed = set(Tombstone.objects.filter(pk__in=refs).values_list("pk", flat=True))
    refs = [ref for ref in refs if ref not in removed]  # retention took their events; `verify` judges the tombstone
    events = _events(refs)
    live = {row.ref: _execution(row) for row in Execution.objects.filter(pk__in=refs)}
    calls: dict[str, dict[str, Any]] = defaultdict(dict)
    for call in Call.objects.filter(execution__in=refs):
        calls[call.execution_id][call.call_id] = _plain(call)
    asked: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in Approval.objects.filter(execution_ref__in=refs).select_related("decided_by", "revoked_by"):
        asked[row.execution_ref][row.pk] = _approval(row)
    questions: dict[str, dict[str, Any]] = defaultdict(dict)
    for one in Question.objects.filter(approval__execution_ref__in=refs).select_related("approval", "asked_by"):
        questions[one.approval.execution_ref][str(one)] = _plain(one) | {"asked_by": one.asked_by.username}
    for ref in refs:
        try:
            rows = fold(ref, events[ref])
        except Corrupt as place:
            why = f"LEDGER_CORRUPT {place}"
            yield Difference(table="execution", execution=ref, row=ref, column="", live="", rebuilt=why)
            continue
        yield from _row("execution", ref, ref, live.get(ref), rows.execution or None)
        yield from _each("call", ref, calls[ref], rows.calls)
        yield from _each("approval", ref, asked[ref], rows.approvals)
        yield from _each("question", ref, questions[ref], rows.questions)


def _events(refs: list[str]) -> dict[str, list[Event]]:
    """The events of each family, in the order they were committed."""
    family = {one: row.pk for row in Invocation.objects.filter(pk__in=refs) for one in row.family}
    found: dict[str, list[Event]] = defaultdict(list)
    for event in Event.objects.filter(invocation_id__in=family).order_by("id").iterator(chunk_size=2000):
        found[family[event.invocation_id]].append(event)
    return found


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
