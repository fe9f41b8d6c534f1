"""Ends what nobody answers: executions past their absolute expiry, approvals past theirs."""

import logging

from approvals.services.expire import expire_due as expire_approvals
from executions.models import Execution
from executions.services.finish import End, finish
from executions.services.quarantine import SEALED
from executions.services.shapes import Fault
from executions.states import Status
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict
from forge_project.kernel.plain import OUTAGE
from forge_project.ledger.writing import writing

log = logging.getLogger("forge.executions")
EXPIRED = Fault(code="TIMEOUT", message="nothing answered before the execution expired", retryable=True)
_IDLE = (Status.QUEUED, Status.WAITING_APPROVAL)


def expire_due(limit: int = 100) -> int:
    """Times out overdue executions that hold no lease, and expires overdue approvals; how many of both."""
    rows = Execution.objects.filter(status__in=_IDLE, expires_at__lte=clock.now())
    rows = rows.exclude(quarantined__startswith=SEALED)  # nobody could answer: it waits for an operator
    return sum(_expire(ref) for ref in list(rows.values_list("ref", flat=True)[:limit])) + expire_approvals(limit)


def _expire(ref: str) -> int:
    try:
        with writing(ref) as page:
            execution = Execution.objects.get(pk=ref)
            if execution.status not in _IDLE or execution.expires_at > clock.now():
                return 0
            finish(page, execution, End(status=Status.TIMED_OUT, fault=EXPIRED), lease=None)
    except Conflict:
        return 0
    except OUTAGE:
        raise
    except Exception as error:  # a bad row stops no other; reconcile or an operator will meet it
        log.error("not expired: %s", ref, exc_info=error)
        return 0
    return 1
