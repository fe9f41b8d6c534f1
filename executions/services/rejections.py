"""Calls that will not be: their approval was denied, revoked or expired, or nothing here can carry them out."""

from typing import Any

from approvals.models import Approval
from approvals.states import State
from executions.errors import CancelRequested
from executions.models import Call
from executions.services import journal
from executions.services.journal import Ended
from executions.services.shapes import Fault
from executions.states import CallStatus
from executions.transitions import Lease, held
from forge_project.ledger.writing import writing


def fault_of(approval: Approval) -> Fault:
    """What the agent is told of a denied, revoked or expired approval."""
    if approval.state == State.EXPIRED:
        return Fault(code="APPROVAL_EXPIRED", message="nobody approved this in time", details={"approval": approval.pk})
    what = "denied" if approval.state == State.DENIED else "revoked"
    details = {"approval": approval.pk, "reason": approval.reason}
    return Fault(code="APPROVAL_DENIED", message=f"a person {what} this: {approval.reason}", details=details)


def reject_decided(lease: Lease, call: Call, approval: Approval) -> dict[str, Any]:
    """Journals the rejection; what the guest is told. CancelRequested where that came first: then it is no failure."""
    fault = fault_of(approval)
    with writing(lease.ref) as page:
        if held(page, lease).cancel_requested_at is not None:
            raise CancelRequested("this execution was cancelled", execution=lease.ref)
        call.refresh_from_db()
        journal.refuse(page, call, fault)
    return Ended(fault=fault).told()


def unavailable(lease: Lease, call: Call) -> dict[str, Any]:
    """Journals that this worker lacks the capability it was asked for with; what the guest is told."""
    fault = Fault(code="EXECUTOR_UNAVAILABLE", message=f"nothing here carries out {call.tool}", retryable=True)
    with writing(lease.ref) as page:
        held(page, lease)
        call.refresh_from_db()
        if call.status == CallStatus.PREPARED:  # a read that was to be asked again
            journal.finish(page, call, Ended(fault=fault))
        else:
            journal.refuse(page, call, fault, rejected=False)
    return Ended(fault=fault).told()
