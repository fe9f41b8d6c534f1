"""End what nobody answered, or nobody used, in time: as a refusal, never as a yes."""

import logging

from approvals import ports
from approvals.models import Approval
from approvals.states import LIVE, State
from approvals.transitions import move
from forge_project.kernel import clock, hot
from forge_project.kernel.plain import OUTAGE
from forge_project.ledger.writing import writing

log = logging.getLogger(__name__)


def expire_due(limit: int = 100) -> int:
    """How many overdue approvals it expired, each in its own transaction; a bad one is logged and passed over."""
    due = Approval.objects.filter(state__in=LIVE, expires_at__lte=clock.now()).order_by("expires_at", "pk")
    done = 0
    for ref, where in list(due.values_list("pk", "invocation_id")):  # all: bad rows must not hide the ones behind them
        done += _expired(ref, where)
        if done >= limit:
            break
    return done


def _expired(ref: str, invocation_id: str) -> bool:
    try:
        return _expire(ref, invocation_id)
    except OUTAGE:
        raise  # the database's trouble, not this row's
    except Exception:
        log.exception("approval %s can't be expired", ref)
        return False


def _expire(ref: str, invocation_id: str) -> bool:
    with writing(invocation_id) as page:
        row, now = Approval.objects.get(pk=ref), clock.now()
        said = {"was": row.state, "due": clock.text(row.expires_at)}
        if not move(page, row, State.EXPIRED, where={"expires_at": hot.AtMost(now)}, said=said, ended_at=now):
            return False  # decided, used or given its second clock while we waited for the lock
        ports.decided(page, row)
    return True
