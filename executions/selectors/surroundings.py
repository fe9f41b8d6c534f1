"""What stands around a call that a person is asked about."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Count, Q

from approvals.around import Around
from approvals.models import Approval
from executions.models import Call, Execution
from executions.states import CALL_ENDS
from forge_project.kernel import strict_json


def of(refs: Collection[str]) -> Mapping[str, Around]:
    """Each execution's task, status and counts of calls, in one query."""
    done = Count("calls", filter=Q(calls__status__in=sorted(CALL_ENDS)))
    rows = Execution.objects.filter(pk__in=set(refs)).annotate(made=Count("calls"), done=done)
    return {
        ref: Around(task=str(scope.get("task_id", "")), status=status, calls=made, done=ended)
        for ref, scope, status, made, ended in rows.values_list("pk", "scope", "status", "made", "done")
    }


def came_of(approval: Approval) -> str:
    """How the call stands now, and what is known of its effect."""
    call = _call(approval)
    if call is None:
        return ""
    ended = call.status in CALL_ENDS
    told = f"The call {'is' if not ended else 'ended as'} {call.get_status_display().lower()}"
    told += f" ({call.error_code})" if call.error_code else ""
    return f"{told}; its effect: {call.get_side_effect_display().lower()}."


def input_of(approval: Approval) -> Any:
    """The call's input with its secrets masked."""
    call = _call(approval)
    return strict_json.loads(call.shown_input, nul=True) if call and call.shown_input else None


def _call(approval: Approval) -> Call | None:
    return Call.objects.filter(execution=approval.execution_ref, call_id=approval.call_id).first()
