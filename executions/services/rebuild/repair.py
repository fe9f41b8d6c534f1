"""Puts rows back to what their events tell. For a database that something other than Forge wrote in."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from approvals.models import Approval, Question
from executions.bounds import CallerLoad
from executions.models import Call, Execution
from executions.services.rebuild.compare import Difference, differences
from forge_project.kernel import clock
from forge_project.ledger.events import fact
from forge_project.ledger.governance import governing
from forge_project.ledger.models import Invocation
from forge_project.ledger.writing import writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What was put back, and what could not be: a row that is missing, or that the database keeps from any change."""

    back: list[Difference]
    left: list[Difference]


def repair(ref: str) -> Repaired:
    """One execution's rows, under its lock, with a fact of `forge:governance` that says which columns."""
    back: list[Difference] = []
    left: list[Difference] = []
    if not Invocation.objects.filter(pk=ref).exists():  # there is nothing to put it back to
        return Repaired(back=back, left=list(differences([ref])))
    with writing(ref):
        for _, found in groupby(differences([ref]), key=lambda one: (one.table, one.row)):
            row = list(found)
            (back if _put_back(row) else left).extend(row)
        if back:
            said = [{"row": one.row, "column": one.column} for one in back]
            with governing() as page:
                page.add(fact("ledger.rebuilt", execution=ref, columns=said))
    return Repaired(back=back, left=left)


def repair_loads(found: Iterable[Difference]) -> None:
    """The callers' counts, as counted."""
    for one in found:
        running, queued = one.rebuilt
        CallerLoad.objects.filter(caller__username=one.row).update(running=running, queued=queued)


def _put_back(row: list[Difference]) -> bool:
    """False where a constraint or a trigger refuses it, or the row is not there: then a person has to look."""
    if not all(one.column for one in row):
        return False
    columns = dict(_value(one.column, one.rebuilt) for one in row)
    try:
        with transaction.atomic():
            return _rows(row[0]).update(**columns) == 1
    except DatabaseError:
        return False


def _rows(one: Difference) -> QuerySet[Any]:
    match one.table:
        case "call":
            return Call.objects.filter(execution=one.execution, call_id=one.row)
        case "approval":
            return Approval.objects.filter(pk=one.row)
        case "question":
            ref, _, n = one.row.partition(" ")
            return Question.objects.filter(approval=ref, n=n)
    return Execution.objects.filter(pk=one.row)


def _value(column: str, told: Any) -> tuple[str, Any]:
    if column == "worker":
        return "worker_id", UUID(told) if told else None
    if column in ("decided_by", "revoked_by", "asked_by"):
        return column, User.objects.filter(username=told).first()
    if column.endswith("_at"):
        return column, told and clock.moment(told)
    return column, told
