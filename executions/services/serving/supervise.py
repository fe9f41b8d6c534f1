"""Keeps a group of processes alive until it is told to stop, then lets them end in good order."""

import signal
from collections.abc import Callable, Sequence

from executions.services.serving.children import Child
from forge_project.kernel import clock

_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WATCHED = (*_STOP, signal.SIGCHLD)
_TICK_SECONDS = 0.5  # signals wake it at once; this bounds what a lost one costs
_KILL_SECONDS = 5.0
UNUSABLE = 2  # a child that ends with this can't run as it is set up: starting it again would not help

Say = Callable[[str], object]


def supervise(children: Sequence[Child], *, drain_seconds: float, say: Say) -> int:
    """Runs until SIGTERM, SIGINT or SIGHUP; the exit code: 0 drained, 1 some had to be killed, 2 not usable.

    Call it from the main thread: it takes its signals by waiting for them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    code = _watch(children, say)
    drained = _drain(children, drain_seconds, say)
    return code or (0 if drained else 1)


def _watch(children: Sequence[Child], say: Say) -> int:
    while True:
        for child in children:
            if child.start_if_due():
                say(f"{child.name} started")
        if _stop_asked(_TICK_SECONDS):
            return 0
        for child in children:
            if (code := child.reap()) is not None:
                if code == UNUSABLE:
                    say(f"{child.name} can't run with these settings")
                    return UNUSABLE
                wait = max(0.0, (child.due or 0.0) - clock.monotonic())
                say(f"{child.name} ended ({_how(code)}); it starts again in {wait:.1f} s")


def _drain(children: Sequence[Child], seconds: float, say: Say) -> bool:
    """Asks all to end; those that have not by then, or at a second signal, are killed."""
    say("stopping")
    for child in children:
        child.signal(signal.SIGTERM)
    until = clock.monotonic() + seconds
    while any(child.alive() for child in children) and clock.monotonic() < until:
        if _stop_asked(0.2):
            break
    late = [child for child in children if child.alive()]
    for child in late:
        say(f"{child.name} did not end in time and was killed; what it ran is settled by looking at the next start")
        child.signal(signal.SIGKILL)
    until = clock.monotonic() + _KILL_SECONDS
    while any(child.alive() for child in children) and clock.monotonic() < until:
        signal.sigtimedwait(_WATCHED, 0.1)
    say("stopped")
    return not late


def _stop_asked(seconds: float) -> bool:
    info = signal.sigtimedwait(_WATCHED, seconds)
    return info is not None and info.si_signo in _STOP


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit {code}"
