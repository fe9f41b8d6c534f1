"""One worker process at work: claims while it has slots, keeps its heartbeat, sweeps, reconciles, drains."""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import Error as DatabaseFault

from approvals.services.reviewer_settings import record_reviewers
from executions.sandbox.zygotes import Zygotes
from executions.services import quarantine, workers
from executions.services.advance import advance
from executions.services.claim import claim_next, seconds_to_due
from executions.services.expire import expire_due
from executions.services.heartbeat import Heartbeat
from executions.services.notifying import Notifying
from executions.services.reconcile import reconcile
from executions.services.reobserve import reobserve_due
from executions.services.runtime import Runtime, release_connections
from executions.services.webhooks.sender import Sender
from executions.transitions import Lease
from forge_project.kernel import clock

log = logging.getLogger("forge.worker")
TICK_SECONDS = 0.5
RELEASE_SECONDS = 60.0  # between looks at what was put aside for want of a key: a worker without it may have been first
_OF_THE_TIME = 0.9  # to drain in; the rest is for the process's own end
_DRAIN_POLL_SECONDS = 0.05


class WorkerProcess:
    """Everything a worker process runs. Start it from a thread that lives as long as the process."""

    def __init__(self) -> None:
        zygotes = Zygotes.start(allow_weak=settings.FORGE_ALLOW_WEAK_ISOLATION)
        self.runtime = Runtime(zygotes=zygotes)
        current = zygotes.current()
        engine = f"{current.engine.name} {current.engine.version}"
        record_reviewers()
        workers.register(self.runtime, isolation=current.isolation, engine=engine)
        self._attempts = ThreadPoolExecutor(settings.FORGE_WORKER_THREADS, "attempt")
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._reconcile_wanted = threading.Event()
        self._drained_by = 0.0
        self._heart = Heartbeat(self.runtime)
        self._heart.start()
        self._notices = Notifying()
        self._notices.start()
        self._sender = Sender()
        self._sender.start()
        self._claims = threading.Thread(target=self._serve, name="forge-claims")
        self._housekeeping = threading.Thread(target=self._housekeep, name="forge-housekeeping")
        self._claims.start()
        self._housekeeping.start()

    def look(self) -> None:
        """A hint: there may be work."""
        self._wake.set()

    def reconcile_soon(self) -> None:
        """A hint: settle what dead workers left."""
        self._reconcile_wanted.set()

    def stop_claiming(self) -> None:
        """The signal has come: from here on the time to drain is counted."""
        if not self.runtime.draining.is_set():
            self._drained_by = clock.monotonic() + settings.FORGE_DRAIN_SECONDS * _OF_THE_TIME
            self.runtime.draining.set()
            self._wake.set()

    def drain(self) -> bool:
        """Stops claiming, ends or gives back what runs, releases everything.

        False if something still runs when the time is up: then the process has to go as it is.
        """
        self.stop_claiming()
        self._claims.join(self._left())  # what it has claimed is handed over before the pool is closed
        self._attempts.shutdown(wait=False)
        while self.runtime.load() and self._left():
            time.sleep(_DRAIN_POLL_SECONDS)
        self._stopped.set()
        self._housekeeping.join(self._left() + _DRAIN_POLL_SECONDS)
        if self.runtime.load() or self._claims.is_alive() or self._housekeeping.is_alive():
            return False
        self._notices.stop()
        self._sender.stop()
        self.runtime.close()
        self._heart.stop()
        workers.stop(self.runtime.worker_id)
        return True

    def _left(self) -> float:
        return max(0.0, self._drained_by - clock.monotonic())

    def _serve(self) -> None:
        """Claims while there are free slots: woken by hints, by ended attempts and by the sweep."""
        pause = float(settings.FORGE_SWEEP_SECONDS)
        while not self.runtime.draining.is_set():
            self._wake.wait(pause)
            self._wake.clear()
            pause = float(settings.FORGE_SWEEP_SECONDS)
            try:
                self._claim_all()
                pause = seconds_to_due()
            except DatabaseFault as error:
                log.warning("claiming failed, will be tried again: %s", type(error).__name__)
            except Exception as error:
                log.error("claiming failed, will be tried again", exc_info=error)
            finally:
                release_connections()

    def _claim_all(self) -> None:
        while not self.runtime.draining.is_set() and self.runtime.load() < settings.FORGE_WORKER_THREADS:
            lease = claim_next(self.runtime)
            if lease is None:
                return
            self._attempts.submit(self._attempt, lease)

    def _attempt(self, lease: Lease) -> None:
        try:
            advance(lease, self.runtime)
        except Exception as error:
            # The row is ours and nobody drives it any more: the next reconcile settles it.
            log.error("attempt broke off: %s", lease.ref, exc_info=error)
            self._reconcile_wanted.set()
        finally:
            self.runtime.let_go(lease.ref)
            release_connections()
            self._wake.set()

    def _housekeep(self) -> None:
        """What may be late: settling what dead workers left, and ending what nobody answered."""
        reconciled_at, released_at = 0.0, -RELEASE_SECONDS
        while not self._stopped.wait(TICK_SECONDS):
            try:
                every = workers.WATCH_SECONDS if self.runtime.watching else settings.FORGE_SWEEP_SECONDS
                due = clock.monotonic() - reconciled_at >= min(every, settings.FORGE_SWEEP_SECONDS)
                if due or self._reconcile_wanted.is_set():
                    self._reconcile_wanted.clear()
                    reconciled_at = clock.monotonic()
                    if reconcile(self.runtime) + reobserve_due(self.runtime):
                        self._wake.set()
                    expire_due()
                    if clock.monotonic() - released_at >= RELEASE_SECONDS:
                        released_at = clock.monotonic()
                        quarantine.release_readable()
            except DatabaseFault as error:
                log.warning("housekeeping failed, will be tried again: %s", type(error).__name__)
            except Exception as error:
                log.error("housekeeping failed, will be tried again", exc_info=error)
            finally:
                release_connections()
