"""Which process a pid is, and whether it still lives: pid and start time together, never the pid alone."""

import os
import signal
import time
from functools import cache
from pathlib import Path

_CONFIRM_SECONDS = 5.0


def start_time(pid: int) -> int | None:
    """Clock ticks since boot when `pid` began; None if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def alive(pid: int, started: int) -> bool:
    """Whether that very process still runs (or is stopped)."""
    return start_time(pid) == started


def kill(pid: int, started: int) -> bool:
    """Ends that very process and waits for its end; False if it could not be confirmed in 5 s."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        if not alive(pid, started):  # the pid was another's by the time it was opened
            return True
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        until = time.monotonic() + _CONFIRM_SECONDS
        while alive(pid, started) and time.monotonic() < until:
            time.sleep(0.005)
        return not alive(pid, started)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        return False
    finally:
        os.close(fd)


@cache
def boot_id() -> str:
    """This boot of this kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def pid_namespace() -> str:
    """The namespace our pids are numbers of."""
    return os.readlink("/proc/self/ns/pid")
