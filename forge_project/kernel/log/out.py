"""Where lines go: stdout, by a thread of its own, in processes that serve; stderr, warnings only, in commands."""

import atexit
import logging
import os
import queue
import sys
import threading
from contextlib import suppress

_ROOM = 10_000  # lines; a reader that stops costs lines, never a worker
_LAST_SECONDS = 2.0
_STDOUT = 1


class Out(logging.Handler):
    """Never raises and never waits for a reader."""

    serving = False

    def __init__(self) -> None:
        super().__init__()
        self._pid = 0
        self._lines: queue.Queue[str] = queue.Queue(_ROOM)

    def emit(self, record: logging.LogRecord) -> None:
        """As the class says."""
        with suppress(Exception):
            if Out.serving:
                line = self.format(record)
                self._writer()
                self._lines.put_nowait(line + "\n")
            elif record.levelno >= logging.WARNING:
                sys.stderr.write(self.format(record) + "\n")

    def _writer(self) -> None:
        """Started in the process that logs: a fork takes no thread along."""
        if self._pid == os.getpid():  # `handle` holds the handler's lock
            return
        self._pid, self._lines = os.getpid(), queue.Queue(_ROOM)
        threading.Thread(target=_write, args=[self._lines], name="forge-log", daemon=True).start()
        atexit.register(_drain, self._lines)


def _write(lines: "queue.Queue[str]") -> None:
    while True:
        line = lines.get()
        with suppress(Exception):
            left = line.encode("utf-8", "backslashreplace")
            while left:
                left = left[os.write(_STDOUT, left) :]
        lines.task_done()


def _drain(lines: "queue.Queue[str]") -> None:
    """What was said before the end is written, if somebody reads. No thread can be started any more (Python 3.12)."""
    with lines.all_tasks_done:
        lines.all_tasks_done.wait_for(lambda: not lines.unfinished_tasks, _LAST_SECONDS)


def serve() -> None:
    """This process serves: from here on its log is JSON on stdout."""
    Out.serving = True
