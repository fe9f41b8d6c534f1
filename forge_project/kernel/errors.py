"""The one base of every refusal and failure: a stable code, facts, and whether asking again may help."""

from typing import Any, ClassVar


class ForgeError(Exception):
    """A failure with a stable `code`; `facts` are JSON and safe to show; HTTP status is kernel/http's business."""

    code: ClassVar[str] = "EXECUTION_FAILED"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, code: str | None = None, retryable: bool | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts
        if code is not None:
            self.code = code  # type: ignore[misc]  # the class gives the default, the instance may narrow it
        if retryable is not None:
            self.retryable = retryable  # type: ignore[misc]


class Invalid(ForgeError):
    """What the client sent is not well formed; `facts["path"]` is a JSON pointer to the fault."""

    code = "INVALID_REQUEST"


class Unidentified(ForgeError):
    """Nobody we know, or an account that may not act any more."""

    code = "IDENTITY_INVALID"


class Denied(ForgeError):
    """Known, but not allowed."""

    code = "SCOPE_DENIED"


class Missing(ForgeError):
    """Not there, or not the caller's to see."""

    code = "NOT_FOUND"


class Conflict(ForgeError):
    """The row moved on without us; the loser of a race gets this and stops."""

    code = "STATE_CONFLICT"


class TooLarge(ForgeError):
    """More bytes than the limit in `facts["limit"]`."""

    code = "BYTES_LIMIT"


class TooMany(ForgeError):
    """Over a cap; `facts["retry_after"]` seconds."""

    code = "QUEUE_FULL"
    retryable = True


class NotReady(ForgeError):
    """A part Forge needs is not usable now; `facts["part"]` names it."""

    code = "EXECUTOR_UNAVAILABLE"
    retryable = True


class Failed(ForgeError):
    """An executor tried and failed."""

    code = "EXECUTION_FAILED"
