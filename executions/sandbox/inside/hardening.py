"""What a fresh guest gives up before it reads a byte from the host."""

import _signal as signal  # the enums of `signal` would be pages every guest copies
import ctypes
import os
import resource

from .seccomp import Filter

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_MIB = 1 << 20
# The C stack must never be what ends a script: the engine counts its own (at most 4 MiB) and Python needs some.
_C_STACK_BYTES = 64 * _MIB
# A frame of 8 MiB exists a few times over while it is parsed; the engine's own limit is the one that binds.
_HEADROOM_BYTES = 192 * _MIB
# No attempt lives longer: 600 s live and 600 s of replay, and the host's own timer comes first.
_WALL_SECONDS = 1300

_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl


def die_with_parent(parent: int) -> None:
    """SIGKILL when the thread that started us ends, also if it ended before we asked."""
    _check(_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:
        os._exit(0)


def keep_only(fd: int) -> None:
    """Closes every other descriptor; `fd` becomes 0."""
    os.dup2(fd, 0)
    os.closerange(1, 1 << 16)


def default_signals() -> None:
    """In the zygote, for all its guests: no Python handler could run while the engine does."""
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def fixed_limits() -> None:
    """In the zygote, for all its guests: what no guest may do at all. The zygote itself writes no file."""
    for what in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        resource.setrlimit(what, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (_C_STACK_BYTES, _C_STACK_BYTES))


def limit(*, cpu_ms: int, address_bytes: int) -> None:
    """Kernel limits behind the engine's own; SIGPROF and SIGXCPU end what the engine can't interrupt."""
    spare_ms = cpu_ms * 5 // 4 + 100  # these clocks count ticks and, on a busy machine, run fast by some per cent
    cpu_seconds = -(-spare_ms // 1000) + 1
    setrlimit = resource.setrlimit
    setrlimit(resource.RLIMIT_NPROC, (0, 0))
    setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    setrlimit(resource.RLIMIT_AS, (address_bytes, address_bytes))
    signal.setitimer(signal.ITIMER_PROF, spare_ms / 1000)
    signal.setitimer(signal.ITIMER_REAL, _WALL_SECONDS)


def lock(filter_: Filter | None) -> None:
    """The last step: no core dump, no ptrace, no new privileges, ten system calls (`None`: weak isolation)."""
    _check(_prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if filter_ is not None:
        filter_.install()


def address_limit(zygote_bytes: int, memory_bytes: int) -> int:
    """The address space of a guest with so much memory."""
    return zygote_bytes + memory_bytes * 2 + _HEADROOM_BYTES


def statm() -> tuple[int, int]:
    """This process's address space and resident set in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        size, resident = file.read().split()[:2]
    return int(size) * resource.getpagesize(), int(resident) * resource.getpagesize()


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "prctl")
