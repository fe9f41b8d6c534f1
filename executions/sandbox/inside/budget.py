"""CPU time of one guest, cumulative over every entry into the engine.

The engine's own limit starts anew at each entry and a guest could outlive it by catching; so what is left is set
before each entry, and looked at again after any job that took long.
"""

import time
from typing import Any

import _quickjs

SLOW_SECONDS = 0.002
EVERY_JOBS = 256


class CpuSpent(Exception):  # an ending, not an error
    """The guest's CPU time is used up."""


class Budget:
    """Lets the engine run only while CPU time is left; raises CpuSpent when it is not."""

    def __init__(self, context: Any, cpu_ms: int) -> None:
        self._pending = context.execute_pending_job
        self._limit = context.set_time_limit
        self._end = cpu_ms / 1000

    def arm(self) -> None:
        """Gives the next entry what is left."""
        left = self._end - time.process_time()
        if left <= 0:
            raise CpuSpent
        self._limit(left)

    def run_jobs(self) -> None:
        """Runs promise jobs until none is left."""
        pending, clock = self._pending, time.perf_counter
        count, before = 0, clock()
        while pending():
            count += 1
            now = clock()
            if now - before > SLOW_SECONDS or not count % EVERY_JOBS:
                self.arm()
            before = now
        if count or clock() - before > SLOW_SECONDS:
            self.arm()

    def claim(self, error: BaseException) -> tuple[str, str]:
        """Code and message for what escaped the engine: by clock and Python type, never by its text.

        The prelude catches all that a script can throw, so what arrives here the engine threw by itself.
        """
        if isinstance(error, CpuSpent) or time.process_time() >= self._end - 0.003:
            return "CPU_LIMIT", "the CPU time is used up"
        if isinstance(error, _quickjs.StackOverflow):
            return "STACK_LIMIT", "the stack limit was reached"
        return "MEMORY_LIMIT", "the memory limit was reached"
