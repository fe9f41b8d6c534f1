"""One guest's life: hardened, ready, start, then turns until a terminal frame."""

import os

from . import hardening, wire
from .budget import Budget
from .seccomp import Filter
from .vm import Vm
from .wire import BROKEN, DONE, HOST_GONE, NO_MEMORY, NULL_THROWN


class Nature:
    """What every guest of one zygote has in common, made before the fork so that no guest makes it again."""

    def __init__(self, *, vm: Vm, filter_: Filter | None, ready: bytes, address_bytes: int, parent: int) -> None:
        self.vm, self.filter, self.ready, self.address_bytes = vm, filter_, ready, address_bytes
        self.parent = parent  # the zygote's pid as a guest sees it: 0 from inside a PID namespace


def live(nature: Nature, fd: int, cpu_ms: int, memory_bytes: int, stack_bytes: int) -> None:
    """Runs in the forked child and never returns."""
    status = BROKEN
    try:
        hardening.die_with_parent(nature.parent)
        hardening.keep_only(fd)
        address_bytes = hardening.address_limit(nature.address_bytes, memory_bytes)
        hardening.limit(cpu_ms=cpu_ms, address_bytes=address_bytes)
        nature.vm.limit(memory_bytes=memory_bytes, stack_bytes=stack_bytes)
        hardening.lock(nature.filter)
        wire.write(0, nature.ready)
        status = Turns(nature.vm, Budget(nature.vm.context, cpu_ms)).drive()
    except EOFError:
        status = HOST_GONE
    except MemoryError:
        status = NO_MEMORY
    finally:
        os._exit(status)


class Turns:
    """Host frame in, jobs until idle, one frame out."""

    def __init__(self, vm: Vm, budget: Budget) -> None:
        self._vm, self._budget = vm, budget
        self._seq = 1  # `ready` was 0

    def drive(self) -> int:
        """The exit status once a terminal frame is sent."""
        entry, kind, asked = self._vm.start, "start", 0
        while True:
            text = wire.payload(wire.read(0), kind, asked)
            if text is None:
                return self._fatal("PROTOCOL_VIOLATION", f"the host sent something other than {kind} {asked}", DONE)
            try:
                self._budget.arm()
                entry(text)
                self._budget.run_jobs()
                turn = self._vm.turn()
                end = self._vm.end() if turn[0] == "!" else ""
            except MemoryError:
                return self._fatal("MEMORY_LIMIT", "the memory limit was reached", NO_MEMORY)
            except Exception as error:  # whatever its type, the engine raised it
                return self._fatal(*self._budget.claim(error), DONE)
            if end:
                return self._finish(turn[1:], end)
            wire.write(0, self._frame("turn", turn))
            entry, kind, asked = self._vm.settle, "settle", asked + 1

    def _finish(self, turn: str, end: str) -> int:
        last = self._frame("turn", turn) if turn else b""
        wire.write(0, last + self._frame("complete" if end[0] == "C" else "fatal", end[1:]))
        return NULL_THROWN if end[0] == "N" else DONE

    def _fatal(self, code: str, message: str, status: int) -> int:
        wire.write(0, self._frame("fatal", f'{{"code":"{code}","message":"{message}"}}'))
        return status

    def _frame(self, kind: str, payload: str) -> bytes:
        seq, self._seq = self._seq, self._seq + 1
        return wire.frame(kind, seq, payload)
