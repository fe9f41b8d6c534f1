"""What one attempt at an execution carries from its claim to its end."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings

from executions.models import Execution
from executions.sandbox.limits import Limits
from executions.services.guard import Guard
from executions.services.runtime import Runtime
from executions.transitions import Lease
from forge_project.kernel import clock, hot

CANCEL_POLL_SECONDS = 0.5  # a cancel is seen within 1 s


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One attempt: its lease, its clocks, its execution as it was at the claim.

    `ended` is set once the guest has: what it had only requested is not begun any more.
    """

    lease: Lease
    runtime: Runtime
    execution: Execution
    started: float = field(default_factory=clock.monotonic)
    ended: threading.Event = field(default_factory=threading.Event)
    hold: int | None = None  # an operator holds what was to be dispatched
    stopping: bool = False  # written: from here on it is cancelled, timed out or unknown
    _asked_at: float = 0.0
    _cancelled: bool = False
    _expires: float = 0.0

    def __post_init__(self) -> None:
        self._expires = self.started + (self.execution.expires_at - clock.now()).total_seconds()

    @property
    def limits(self) -> Limits:
        """The execution's limits."""
        return Limits(**self.execution.limits)

    @property
    def deadline(self) -> float:
        """When the execution's active time is used up, or it expires altogether (monotonic seconds)."""
        return min(self.started + (self.execution.timeout_ms - self.execution.active_ms) / 1000, self._expires)

    @property
    def active_ms(self) -> int:
        """The execution's active time so far, this attempt's included."""
        return self.execution.active_ms + int((clock.monotonic() - self.started) * 1000)

    @property
    def guard(self) -> Guard:
        """The conditions of this attempt's dispatches."""
        return Guard(lease=self.lease, runtime=self.runtime, deadline=self.deadline, ended=self.ended)

    def cancelled(self, *, look: bool = False) -> bool:
        """Whether someone asked for the end; the row is read at most twice a second, or now (`look`)."""
        now = clock.monotonic()
        if not self._cancelled and (look or now - self._asked_at >= CANCEL_POLL_SECONDS):
            self._asked_at = now
            self._cancelled = hot.exists(Execution, {"ref": self.lease.ref, "cancel_requested_at": hot.Not(None)})
        return self._cancelled

    def note_cancelled(self) -> None:
        """A dispatch was refused because of it."""
        self._cancelled = True

    def stop(self) -> bool:
        """Whether a running guest has to go: cancelled, or this worker drains."""
        return self.cancelled() or self.runtime.draining.is_set()


Digest = Callable[[object], str]


def replay_digest(execution: Execution) -> Digest:
    """The keyed digest turns are recorded under: always by the key the execution began with."""

    def digest(value: object) -> str:
        return str(settings.FORGE_FINGERPRINTS.of(value, like=execution.input_fingerprint))

    return digest
