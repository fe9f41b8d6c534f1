"""Which holds stand, and what they keep back."""

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from executions.bounds import HeldKind, Hold
from executions.models import Execution


def standing() -> list[Hold]:
    """The holds in force, the oldest first."""
    return list(Hold.objects.filter(released_at=None).order_by("pk"))


def covers(hold: Hold, execution: Execution, tools: Iterable[str] = ()) -> bool:
    """Whether `hold` keeps this execution from being run, or one of `tools` from being dispatched for it."""
    match HeldKind(hold.kind):
        case HeldKind.EVERYTHING:
            return True
        case HeldKind.CALLER:
            return execution.caller_ref == f"user:{hold.target}"
        case HeldKind.WORKSPACE:
            return execution.workspace is not None and execution.workspace.name == hold.target
        case HeldKind.CAPABILITY:
            return hold.target in (execution.capability, *tools) or execution.hold_id == hold.pk


def free(rows: QuerySet[Execution]) -> QuerySet[Execution]:
    """Those of `rows` that no hold keeps back."""
    for hold in standing():
        match HeldKind(hold.kind):
            case HeldKind.EVERYTHING:
                return rows.none()
            case HeldKind.CALLER:
                rows = rows.exclude(caller__username=hold.target)
            case HeldKind.WORKSPACE:
                rows = rows.exclude(workspace__isnull=False, workspace__name=hold.target)
            case HeldKind.CAPABILITY:
                rows = rows.exclude(Q(capability=hold.target) | Q(hold__isnull=False, hold=hold.pk))
    return rows


def held_by(execution: Execution, tools: Iterable[str], found: Iterable[Hold]) -> Hold | None:
    """The first of `found` that covers it."""
    return next((hold for hold in found if covers(hold, execution, tools)), None)
