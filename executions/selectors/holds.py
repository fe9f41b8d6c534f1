"""Which holds stand, and what they keep back."""

from collections.abc import Iterable

from executions.bounds import HeldKind, Hold
from executions.models import Execution
from forge_project.kernel import hot


def standing() -> list[Hold]:
    """The holds in force, the oldest first."""
    return hot.rows(Hold, {"released_at": None}, order="id")


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


def held_by(execution: Execution, tools: Iterable[str], found: Iterable[Hold]) -> Hold | None:
    """The first of `found` that covers it."""
    return next((hold for hold in found if covers(hold, execution, tools)), None)
