"""What one worker process holds: its identity, its pools, its zygotes, and which executions it is driving."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, connections

from executions.sandbox.zygotes import Zygotes
from forge_project.kernel import clock
from forge_project.kernel.errors import NotReady

T = TypeVar("T")


class Runtime:
    """One per worker process; a command that reconciles makes one without zygotes."""

    def __init__(self, worker_id: UUID | None = None, zygotes: Zygotes | None = None) -> None:
        self.worker_id = worker_id or uuid4()
        self._zygotes = zygotes
        self.calls = ThreadPoolExecutor(settings.FORGE_CALL_THREADS, "call")
        self.draining = threading.Event()
        self._driving: dict[str, int | None] = {}  # whose it is, where it counts against a caller
        self._calls: Counter[str] = Counter()  # given to the pool and not ended, by execution
        self._lock = threading.Lock()
        self._beat_at = clock.boottime()
        self._silent: dict[UUID, tuple[object, float]] = {}

    @property
    def zygotes(self) -> Zygotes:
        """Where guests come from; NotReady in a process that runs none."""
        if self._zygotes is None:
            raise NotReady("this process runs no guests", code="ENGINE_NOT_READY", part="engine")
        return self._zygotes

    @property
    def isolation(self) -> str:
        """The level this process's guests have; empty where it runs none."""
        return "" if self._zygotes is None else self._zygotes.isolation

    def beaten(self, at: float) -> None:
        """Notes that a heartbeat begun at `at` (seconds since boot) is in the database."""
        self._beat_at = at

    def fresh(self) -> bool:
        """Whether nobody can have taken this worker for dead: half a lease since the last heartbeat."""
        return clock.boottime() - self._beat_at < settings.FORGE_LEASE_SECONDS / 2

    def watch(self, worker_id: UUID, heartbeat: object, seconds: float) -> bool:
        """Whether this process has seen that very heartbeat stand still for so long; the first look begins it.

        After an outage of the database everyone's heartbeat is old for a moment: nobody is killed for that.
        """
        seen, since = self._silent.get(worker_id, (None, 0.0))
        if seen != heartbeat:
            self._silent[worker_id] = (heartbeat, clock.monotonic())
            return False
        return clock.monotonic() - since >= seconds

    @property
    def watching(self) -> bool:
        """Whether some worker's heartbeat stood still at the last look: another look is due soon."""
        return bool(self._silent)

    def seen_alive(self, worker_id: UUID) -> None:
        """Its heart beats, or it is known to be dead: there is nothing to watch."""
        self._silent.pop(worker_id, None)

    def take(self, ref: str, caller_id: int | None = None) -> bool:
        """Marks `ref` as in this process's hands, before its claim; False if it is already."""
        with self._lock:
            if ref in self._driving:
                return False
            self._driving[ref] = caller_id
            return True

    def let_go(self, ref: str) -> None:
        """The opposite of `take`."""
        with self._lock:
            self._driving.pop(ref, None)

    def call(self, ref: str, work: Callable[..., T], *args: Any) -> Future[T]:
        """Runs `work` in the pool of calls; until it has ended, whatever became of who asked, `drives` says so."""
        with self._lock:
            self._calls[ref] += 1
        try:
            future = self.calls.submit(work, *args)
        except BaseException:
            self._ended(ref)
            raise
        future.add_done_callback(lambda _: self._ended(ref))
        return future

    def _ended(self, ref: str) -> None:
        with self._lock:
            self._calls[ref] -= 1
            if not self._calls[ref]:
                del self._calls[ref]

    def drives(self, ref: str) -> bool:
        """Whether a thread of this process has `ref` in its hands, or is still at a call of it."""
        with self._lock:
            return ref in self._driving or ref in self._calls

    def filled_by(self, most: int) -> list[int]:
        """The callers of whom this process has `most` executions in its hands, or more."""
        with self._lock:
            held = Counter(caller for caller in self._driving.values() if caller is not None)
        return [caller for caller, count in held.items() if count >= most]

    def load(self) -> int:
        """How many executions this process has in its hands."""
        with self._lock:
            return len(self._driving)

    def close(self) -> None:
        """Lets the pool's calls end, then the zygotes."""
        self.calls.shutdown(wait=True)
        if self._zygotes is not None:
            self._zygotes.close()


def release_connections() -> None:
    """Ends a pooled job: PostgreSQL's connection goes back to its pool, SQLite's stays with its thread."""
    if connection.vendor != "sqlite":
        connections.close_all()
