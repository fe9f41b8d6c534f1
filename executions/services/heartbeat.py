"""A worker's heartbeat, in a thread of its own: whatever else is late, nobody takes a living worker for dead."""

import logging
import threading
from types import TracebackType

from django.db import Error as DatabaseFault

from executions.services import workers
from executions.services.runtime import Runtime, release_connections

log = logging.getLogger("forge.worker")
BEAT_SECONDS = 0.5


class Heartbeat:
    """Beats from `with` to its end."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime, self._stopped = runtime, threading.Event()
        self._thread = threading.Thread(target=self._beat, name="forge-heartbeat", daemon=True)

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Begins to beat."""
        self._thread.start()

    def stop(self) -> None:
        """The last beat has been."""
        self._stopped.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            try:
                workers.beat(self._runtime)
            except DatabaseFault as error:
                log.warning("no heartbeat, will be tried again: %s", type(error).__name__)
            finally:
                release_connections()
