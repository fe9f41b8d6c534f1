"""Keeps one usable zygote for the whole life of a worker, whatever happens to single ones."""

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Self

from executions.sandbox.guest import Guest
from executions.sandbox.shapes import Start
from executions.sandbox.zygote import Zygote, not_ready
from forge_project.kernel.errors import NotReady

FORKS_PER_ZYGOTE = 1_000  # what a zygote leaks, it leaks for so long


class Zygotes:
    """Spawns guests; replaces a zygote that died or is worn out. A failed start is told and tried again next time.

    Zygotes are started by a thread of its own that ends with the process: PDEATHSIG follows the starting thread.
    """

    def __init__(self, *, allow_weak: bool = False) -> None:
        self._allow_weak = allow_weak
        self._lock = threading.Lock()
        self._current: Zygote | None = None
        self._draining: list[Zygote] = []
        self._closed = False
        self._wanted: SimpleQueue[Future[Zygote] | None] = SimpleQueue()
        self._keeper = threading.Thread(target=self._keep, name="forge-zygote-keeper", daemon=True)
        self._keeper.start()

    @classmethod
    def start(cls, *, allow_weak: bool = False) -> Self:
        """With the first zygote up; NotReady says why it is not."""
        zygotes = cls(allow_weak=allow_weak)
        try:
            zygotes.current()
        except NotReady:
            zygotes.close()
            raise
        return zygotes

    def spawn(self, start: Start) -> Guest:
        """A guest of a usable zygote; a zygote found dead is replaced once before giving up."""
        zygote = self.current()
        try:
            return zygote.spawn(start)
        except NotReady:
            if zygote.alive():
                raise
            return self.current().spawn(start)

    def current(self) -> Zygote:
        """A zygote that is alive and not worn out; the new one is up before the old one drains."""
        with self._lock:
            if self._closed:
                raise not_ready("this worker is shutting down")
            current = self._current
            if current is not None and current.alive() and current.forks < FORKS_PER_ZYGOTE:
                return current
            fresh: Future[Zygote] = Future()
            self._wanted.put(fresh)
            self._current = fresh.result()
            if current is not None:
                self._draining.append(current)
            self._draining = [old for old in self._draining if not self._drained(old)]
            return self._current

    def alive(self) -> bool:
        """Whether the next spawn needs no new zygote."""
        current = self._current
        return current is not None and current.alive()

    @property
    def isolation(self) -> str:
        """The level of the zygote in use; empty before the first."""
        current = self._current
        return "" if current is None else current.isolation

    def close(self) -> None:
        """Ends every zygote and guest."""
        with self._lock:
            self._closed = True
            for zygote in [*self._draining, *([self._current] if self._current else [])]:
                zygote.close()
            self._current, self._draining = None, []
        self._wanted.put(None)

    def _keep(self) -> None:
        while (fresh := self._wanted.get()) is not None:
            try:
                fresh.set_result(Zygote.start(allow_weak=self._allow_weak))
            except BaseException as error:
                fresh.set_exception(error)

    @staticmethod
    def _drained(old: Zygote) -> bool:
        if old.alive() and old.living:
            return False
        old.close()
        return True
