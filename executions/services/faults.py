"""Errors as agents are told them: our codes as they are, foreign exceptions as one safe sentence."""

import logging

from executions.services.shapes import Fault
from forge_project.kernel.errors import ForgeError

log = logging.getLogger("forge.executions")
INTERRUPTED = Fault(
    code="INTERRUPTED", message="the worker stopped before this was done; it was not applied", retryable=True
)


def fault_of(error: Exception, call_id: str) -> Fault:
    """A call's failure; the detail of a foreign exception goes to the operator's log only."""
    if isinstance(error, ForgeError):
        # "The request is not valid" said of a call is about its input.
        code = "TOOL_INPUT_INVALID" if error.code == "INVALID_REQUEST" else error.code
        return Fault(code=code, message=error.message, retryable=error.retryable, details=error.facts)
    log.error("executor failed: %s", call_id, exc_info=error)
    return Fault(code="EXECUTION_FAILED", message="the executor failed; the operator's log has the detail")
