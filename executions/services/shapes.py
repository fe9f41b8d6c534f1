"""Small values the services share."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a call or an execution did not succeed, as the agent is told."""

    code: str
    message: str
    retryable: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """{code, message, retryable, details?}."""
        told: dict[str, Any] = {"code": self.code, "message": self.message, "retryable": self.retryable}
        return told | ({"details": self.details} if self.details else {})
