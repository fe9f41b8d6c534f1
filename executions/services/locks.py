"""The lock of a workspace: a flock, taken before any database lock; SIGKILL frees it."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings

from executions.errors import DeadlinePassed, GuestEnded
from forge_project.kernel import clock

_POLL_SECONDS = 0.02  # flock knows no deadline of its own


@contextmanager
def workspace_lock(name: str, deadline: float, given_up: Callable[[], bool] | None = None) -> Iterator[None]:
    """Holds the workspace for one writer on this host; DeadlinePassed if it is not free before `deadline`.

    GuestEnded once `given_up` says that nobody needs it any more.
    """
    folder = settings.FORGE_VAR / "locks"
    settings.FORGE_VAR.mkdir(mode=0o700, parents=True, exist_ok=True)  # `parents` alone would forget the mode
    folder.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not _taken(fd):
            if given_up is not None and given_up():
                raise GuestEnded("nothing more is begun", workspace=name)
            if clock.monotonic() >= deadline:
                raise DeadlinePassed("another call held the workspace", workspace=name)
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(fd)


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
