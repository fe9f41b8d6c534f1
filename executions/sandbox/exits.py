"""How guests ended: one slot per process, filled by whoever reaps it."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exit:
    """A reaped process; `wait_status` is None where nobody saw it end."""

    wait_status: int | None
    cpu_ms: int = 0
    peak_bytes: int = 0


class ExitSlot:
    """Filled once; read by any thread."""

    def __init__(self) -> None:
        self._filled = threading.Event()
        self._exit: Exit | None = None

    def fill(self, exit_: Exit) -> None:
        """The first fill counts."""
        if not self._filled.is_set():
            self._exit = exit_
            self._filled.set()

    def wait(self, seconds: float) -> Exit | None:
        """The exit, or None if it has not been reaped within `seconds`."""
        self._filled.wait(seconds)
        return self._exit
