"""The end of an attempt that was asked for from outside: said at once, nothing more begins, what has begun finishes."""

from executions.models import Call
from executions.services import journal
from executions.services.attempt import Attempt
from executions.states import CallStatus, Status
from executions.transitions import held, move
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing

GRACE_SECONDS = 0.5  # for what looks or reads: it changes nothing, so nobody waits for it longer


def stop(attempt: Attempt, reason: str | None) -> set[int]:
    """The calls whose effect has begun, once no other can begin; with a reason the execution is stopping from here on.

    The invocation's lock orders it: a T1 that came first is in the answer, a later one is refused.
    """
    attempt.ended.set()
    with writing(attempt.lease.ref) as page:
        execution = held(page, attempt.lease)
        if reason is not None and execution.status == Status.RUNNING:
            event = fact("execution.stopping", attempt=attempt.lease.attempt, reason=reason)
            move(page, execution, Status.STOPPING, event, lease=attempt.lease)
        attempt.stopping = execution.status == Status.STOPPING
        begun = Call.objects.filter(execution=execution, status=CallStatus.PREPARED)
        return set(begun.exclude(effect__in=journal.QUIET).values_list("n", flat=True))
