"""The service the demo talks to: `manage.py serve`, as anybody would start it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from django.conf import settings

from executions.services.demo.client import Client
from executions.services.serving.children import spawn
from executions.services.serving.listening import Listener, listen
from forge_project.kernel import clock
from forge_project.kernel.errors import Failed, Invalid

_START_SECONDS = 40.0
_POLL_SECONDS = 0.1
_TAIL = 30  # lines of its log shown when something went wrong


class Service:
    """Web and worker of the demo, on port 8000 or, where that is taken, any free one."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._listener = _listener()
        self.url = self._listener.url
        fd = self._listener.socket.fileno()
        os.set_inheritable(fd, True)
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "serve", "--bind", f"fd://{fd}"]
        with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as output:
            # SIGTERM, so that a demo that is killed leaves nothing, and nothing half done.
            self._process = spawn(command, death=signal.SIGTERM, keep=(fd,), output=output.fileno())
        self._listener.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_until_ready(self) -> None:
        """Raises Failed if it does not answer in time."""
        client, deadline = Client(url=self.url), clock.monotonic() + _START_SECONDS
        while clock.monotonic() < deadline and self._process.poll() is None:
            if client.answers("/healthz"):
                return
            time.sleep(_POLL_SECONDS)
        raise Failed("the service did not start")

    def stop(self) -> bool:
        """Whether it drained and ended in good order."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(settings.FORGE_DRAIN_SECONDS + 15) == 0
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False

    def wait(self) -> None:
        """Until it ends by itself."""
        self._process.wait()

    def tail(self) -> str:
        """The end of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-_TAIL:])


def _listener() -> Listener:
    try:
        return listen("127.0.0.1:8000")
    except Invalid:
        return listen("127.0.0.1:0")
