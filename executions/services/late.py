"""The outcome that arrives when another has taken the execution over: kept as evidence, it changes no status."""

from collections.abc import Sequence

from executions.models import Call
from executions.services import journal
from executions.services.faults import log
from executions.services.journal import Ended
from executions.transitions import Lease
from forge_project.kernel.errors import Conflict
from forge_project.ledger import aftermath
from forge_project.ledger.writing import writing_after


def keep(call: Call, lease: Lease, ended: Ended, artifacts: Sequence[str]) -> None:
    """Writes what really happened, on the successor if the execution is sealed by now; a refusal is only logged."""
    try:
        with writing_after(lease.ref) as page:
            aftermath.late(page, journal.tool(call), lease.attempt, journal.outcome(call, ended), artifacts)
    except Conflict as refused:
        log.warning("late outcome not kept: %s: %s", call.call_id, refused.message)
