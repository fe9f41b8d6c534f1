"""Where an execution goes once no call of it is unknown any more: it ends, or its script goes on by replay."""

from typing import Any

from executions.models import Call, Execution
from executions.services import waiting
from executions.services.finish import End, finish, may_resume
from executions.services.sealed import unseal
from executions.services.shapes import Fault
from executions.states import CallStatus, Kind, Status
from forge_project.ledger.writing import Page

_NO_ERROR: dict[str, Any] = {"error_code": "", "error_message": "", "error_details": {}, "retryable": False}


def go_on(page: Page, execution: Execution) -> Status:
    """The new status, in the caller's transaction; `unknown` while another call is. A cancelled one never resumes."""
    if Call.objects.filter(execution=execution, status=CallStatus.UNKNOWN).exists():
        return Status.UNKNOWN
    if execution.cancel_requested_at is not None:
        fault = Fault(code="CANCELLED", message=f"cancelled: {execution.cancel_reason}")
        end = End(status=Status.CANCELLED, fault=fault)
    elif execution.kind == Kind.CAPABILITY:
        end = end_of_request(execution)
    elif may_resume(execution):
        # What a person or a look has settled is no crash.
        waiting.to_queue(page, execution, "resolved", _NO_ERROR | {"crashes": 0})
        return Status.QUEUED
    else:
        end = End(status=Status.FAILED, fault=interrupted(execution, "it stopped at an effect nobody knew of"))
    finish(page, execution, end, lease=None)
    return end.status


def end_of_request(execution: Execution) -> End:
    """A capability request ends as its one call did: applied is a success."""
    call = Call.objects.filter(execution=execution, round=execution.round, n=1).first()
    if call is None or call.sealed_result is None:
        return End(status=Status.FAILED, fault=interrupted(execution, "its worker stopped"))
    told = unseal(call.sealed_result)
    if told["ok"]:
        return End(status=Status.SUCCEEDED, value=told["value"])
    return End(status=Status.FAILED, fault=Fault(**told["error"]))


def interrupted(execution: Execution, message: str) -> Fault:
    """What is told of an execution that broke off and is not resumed."""
    code = "INTERRUPTED" if execution.kind == Kind.CAPABILITY else "ISOLATE_FAILURE"
    return Fault(code=code, message=message, retryable=True, details={"reason": "interrupted"})
