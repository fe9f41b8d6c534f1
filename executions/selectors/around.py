"""What stands around a call that a person is asked about."""

from collections.abc import Collection, Mapping

from django.db.models import Count, Q

from approvals.ports import Around
from executions.models import Execution
from executions.states import CALL_ENDS


def around(refs: Collection[str]) -> Mapping[str, Around]:
    """Each execution's task, status and counts of calls, in one query."""
    done = Count("calls", filter=Q(calls__status__in=sorted(CALL_ENDS)))
    rows = Execution.objects.filter(pk__in=set(refs)).annotate(made=Count("calls"), done=done)
    return {
        ref: Around(task=str(scope.get("task_id", "")), status=status, calls=made, done=ended)
        for ref, scope, status, made, ended in rows.values_list("pk", "scope", "status", "made", "done")
    }
