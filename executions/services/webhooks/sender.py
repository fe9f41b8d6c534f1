"""The worker's thread that sends what is due: beside housekeeping, which no slow subscriber may hold up."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import Error as DatabaseFault

from executions.outbox.models import Delivery
from executions.services.runtime import release_connections
from executions.services.webhooks.deliver import deliver, take

log = logging.getLogger("forge.webhooks")
LOOK_SECONDS = 1.0
THREADS = 4


class Sender:
    """At most THREADS at once, and one to each webhook: a subscriber that never answers holds up itself alone."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "webhook")
        self._busy: set[str] = set()
        self._lock = threading.Lock()
        self._stopped, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="forge-webhooks")

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def stop(self) -> None:
        """What is being sent is sent; the rest stays due."""
        self._stopped.set()
        self._wake.set()
        self._thread.join()
        self._pool.shutdown(wait=True)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                while not self._stopped.is_set() and (row := self._next()) is not None:
                    self._pool.submit(self._one, row)
            except DatabaseFault as error:
                log.warning("webhooks: will be tried again: %s", type(error).__name__)
            except Exception as error:
                log.error("webhooks: will be tried again", exc_info=error)
            finally:
                release_connections()
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()

    def _next(self) -> Delivery | None:
        with self._lock:
            busy = set(self._busy)
        if len(busy) >= THREADS:
            return None
        row = take(busy)
        if row is not None:
            with self._lock:
                self._busy.add(row.webhook_id)
        return row

    def _one(self, row: Delivery) -> None:
        try:
            deliver(row)
        except Exception as error:
            log.error("delivery broke off: %s", row, exc_info=error)  # it is due again when its lease ends
        finally:
            release_connections()
            with self._lock:
                self._busy.discard(row.webhook_id)
            self._wake.set()
