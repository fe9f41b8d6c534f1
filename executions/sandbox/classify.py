"""The one place that says how a guest ended, for every phase, from what the host can observe."""

import signal
from dataclasses import dataclass
from typing import Literal

from executions.sandbox.inside.wire import DONE, NO_MEMORY, NULL_THROWN
from executions.sandbox.shapes import Fatal

Stop = Literal["deadline", "cancel", "cpu", "violation"]

# The engine throws null where it could not even make its error; it was out of memory only if that much was ever used.
_NEARLY_ALL = 0.75
_BY_SIGNAL = {
    signal.SIGXCPU: ("CPU_LIMIT", "the CPU time is used up"),
    signal.SIGPROF: ("CPU_LIMIT", "the CPU time is used up"),
    signal.SIGALRM: ("TIMEOUT", "the guest outlived every deadline"),
    signal.SIGSYS: ("ISOLATE_FAILURE", "the guest made a forbidden system call"),
}
_BY_STOP: dict[Stop, tuple[str, str]] = {
    "deadline": ("TIMEOUT", "the time is used up"),
    "cancel": ("CANCELLED", "cancelled"),
    "cpu": ("CPU_LIMIT", "the CPU time is used up"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What the host saw: why it stopped the guest, the guest's last frame, how the process ended, what it used."""

    stop: Stop | None = None
    violation: str = ""
    claim: Fatal | None = None
    wait_status: int | None = None
    cpu_ms: int = 0
    cpu_limit_ms: int = 0
    peak_bytes: int = 0
    memory_limit: int = 0


def classify(ending: Ending) -> Fatal:
    """Code and message of an ending that is no `complete`. Text of the guest decides nothing here."""
    details = {"cpu_ms": ending.cpu_ms, "peak_bytes": ending.peak_bytes}
    if ending.stop == "violation":
        return Fatal("PROTOCOL_VIOLATION", ending.violation)
    if ending.stop is not None:
        return Fatal(*_BY_STOP[ending.stop], details=details)
    claim = ending.claim
    if claim is not None and _exit(ending) == NULL_THROWN and _used_most(ending):
        return Fatal("MEMORY_LIMIT", "the memory limit was reached", claim.line, details)
    if claim is not None:
        return Fatal(claim.code, claim.message, claim.line)
    return Fatal(*_died(ending), details=details)


def _died(ending: Ending) -> tuple[str, str]:
    """A guest that ended without a last word."""
    if ending.wait_status is None:
        return "ISOLATE_FAILURE", "the guest is gone and nobody saw how"
    if _exit(ending) == NO_MEMORY:
        return "MEMORY_LIMIT", "the memory limit was reached"
    if _exit(ending) is not None:
        said = "the guest ended without a result" if _exit(ending) == DONE else f"the guest failed ({_exit(ending)})"
        return "ISOLATE_FAILURE", said
    number = -ending_code(ending.wait_status)
    if number in _BY_SIGNAL:
        return _BY_SIGNAL[signal.Signals(number)]
    if number == signal.SIGKILL and 0 < ending.cpu_limit_ms <= ending.cpu_ms:
        return "CPU_LIMIT", "the CPU time is used up"  # RLIMIT_CPU's hard limit
    return "ISOLATE_FAILURE", f"the guest died of signal {number}"


def ending_code(wait_status: int) -> int:
    """Exit status, or minus the signal."""
    return (wait_status >> 8) & 0xFF if wait_status & 0x7F == 0 else -(wait_status & 0x7F)


def _exit(ending: Ending) -> int | None:
    code = None if ending.wait_status is None else ending_code(ending.wait_status)
    return code if code is not None and code >= 0 else None


def _used_most(ending: Ending) -> bool:
    return ending.peak_bytes >= _NEARLY_ALL * ending.memory_limit
