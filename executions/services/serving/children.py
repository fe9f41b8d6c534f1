"""Processes that this one keeps: they die with it, and are started again, with back-off, when they die alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from forge_project.kernel import clock

_LAUNCH = Path(__file__).with_name("launch.py")
_BACK_OFF = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)  # seconds before each start in a row
_SETTLED_SECONDS = 60.0  # alive for so long, the next death counts as the first


def spawn(
    command: Sequence[str],
    *,
    death: signal.Signals = signal.SIGKILL,
    keep: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    output: int | None = None,
) -> subprocess.Popen[bytes]:
    """Starts a process in a session of its own that gets `death` when the calling thread ends."""
    launched = [sys.executable, "-I", "-S", str(_LAUNCH), str(os.getpid()), str(int(death)), *command]
    return subprocess.Popen(
        launched,
        pass_fds=keep,
        env=None if env is None else dict(env),
        cwd=settings.BASE_DIR,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,  # the terminal's Ctrl-C is for the supervisor alone
    )


@dataclass(slots=True, kw_only=True)
class Child:
    """One kept process. Times are monotonic seconds."""

    name: str
    command: Sequence[str]
    keep: Sequence[int] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    due: float | None = 0.0  # when it is to be started; None while it runs
    _process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _deaths: int = field(default=0)

    def start_if_due(self) -> bool:
        """Starts it if its time has come; whether it did."""
        if self.due is None or clock.monotonic() < self.due:
            return False
        quiet = {"PYTHONWARNINGS": "ignore"} | dict(self.env)  # what libraries warn of is for developers
        self._process = spawn(self.command, keep=self.keep, env=quiet)
        self._started, self.due = clock.monotonic(), None
        return True

    def reap(self) -> int | None:
        """The exit code if it has died since last asked (negative: by that signal); its next start is due then."""
        if self._process is None or (code := self._process.poll()) is None:
            return None
        now = clock.monotonic()
        self._deaths = 0 if now - self._started >= _SETTLED_SECONDS else self._deaths
        self.due = now + _BACK_OFF[min(self._deaths, len(_BACK_OFF) - 1)]
        self._deaths, self._process = self._deaths + 1, None
        return code

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal if it runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None
