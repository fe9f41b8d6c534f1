"""The host's hold on one zygote process: it forks hardened guests and tells how each ended."""

import array
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from contextlib import suppress
from pathlib import Path
from typing import Self

from executions.sandbox import engine as engines
from executions.sandbox.engine import Engine
from executions.sandbox.exits import Exit, ExitSlot
from executions.sandbox.guest import Guest
from executions.sandbox.inside.control import BIRTH, BORN, DEATH, FORK, GONE, HELLO, MESSAGE_BYTES, READY, REQUEST
from executions.sandbox.protocol import Ready
from executions.sandbox.shapes import Fatal, Start
from forge_project.kernel.errors import NotReady

START_SECONDS = 10.0
SPAWN_SECONDS = 5.0
_HERE = Path(__file__).parent
_BOOT = "import sys; sys.path[:0] = sys.argv[3:5]; from inside.zygote import main; main()"


class Zygote:
    """One per worker process; thread-safe. `start` from a thread that lives as long as the worker."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, engine: Engine, said: bytes) -> None:
        _, self._baseline = HELLO.unpack_from(said)
        self.isolation, self.selection_reason, self.prelude_sha256 = said[HELLO.size :].decode().split("\n")
        self.engine = engine
        self.forks = 0
        self._process, self._control = process, control
        self._lock = threading.Lock()
        self._births: dict[int, Future[tuple[int, int, ExitSlot]]] = {}
        self._living: dict[int, ExitSlot] = {}
        self._gone = False
        threading.Thread(target=self._read, name="forge-zygote-reader", daemon=True).start()

    @classmethod
    def start(cls, *, allow_weak: bool = False, engine: Engine | None = None) -> Self:
        """Checks the engine and starts a zygote; NotReady(ENGINE_NOT_READY) says why it can't."""
        engine = engine or engines.check()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-I", "-S", "-B", "-c", _BOOT, str(os.getpid()), str(theirs.fileno())]
            process = subprocess.Popen(
                [*command, str(engine.site), str(_HERE)],
                env={},  # cleared later it could still be read in /proc
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        ours.settimeout(START_SECONDS)
        try:
            said = ours.recv(MESSAGE_BYTES)
        except OSError:
            said = b""
        ours.settimeout(None)
        if said[:1] != READY:
            ours.close()
            process.kill()
            lines = process.communicate()[1].decode(errors="replace").strip().splitlines()
            raise not_ready(f"the zygote did not start: {lines[-1] if lines else process.returncode}")
        if process.stderr is not None:
            process.stderr.close()
        zygote = cls(process, ours, engine, said)
        if zygote.isolation == "weak" and not allow_weak:
            zygote.close()
            raise not_ready(f"no seccomp here: {zygote.selection_reason}")
        return zygote

    def spawn(self, start: Start) -> Guest:
        """A hardened guest that has been given `start`; NotReady if it can't be had or is not our engine."""
        ours, theirs = socket.socketpair()
        with theirs:
            pid, pidfd, slot = self._born(start, theirs, ours)
        guest = Guest(pid=pid, pidfd=pidfd, sock=ours, exit_slot=slot, baseline_bytes=self._baseline)
        said = guest.handshake(deadline=time.monotonic() + SPAWN_SECONDS)
        try:
            refuse_stranger(self.engine, said)
            guest.begin(start)
        except BaseException:
            guest.kill()
            raise
        return guest

    def alive(self) -> bool:
        """Whether it can still fork."""
        return not self._gone

    @property
    def living(self) -> int:
        """Guests not yet reaped."""
        with self._lock:
            return len(self._living)

    def close(self) -> None:
        """Ends the zygote and with it every guest of it."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _born(self, start: Start, theirs: socket.socket, ours: socket.socket) -> tuple[int, int, ExitSlot]:
        born: Future[tuple[int, int, ExitSlot]] = Future()
        with self._lock:
            self.forks += 1
            request = self.forks
            self._births[request] = born
            gone = self._gone
        memory = start.limits.memory_bytes, start.limits.stack_bytes
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))]
        try:
            if gone:
                raise BrokenPipeError
            self._control.sendmsg([REQUEST.pack(FORK, request, start.cpu_ms, *memory)], attached)
            return born.result(SPAWN_SECONDS)
        except (OSError, TooLate) as error:
            with self._lock:
                self._births.pop(request, None)  # a late birth is nobody's: it sees its host gone
                self._gone |= isinstance(error, ConnectionError)  # its end may not have been read yet
            ours.close()
            raise not_ready("the zygote is gone") from None

    def _read(self) -> None:
        """The one reader: births by request, deaths by pid."""
        while True:
            try:
                message, ancillary, _, _ = self._control.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(4))
            except OSError:
                message = b""
            match message[:1]:
                case b"P" if message[:1] == BORN:
                    _, request, pid = BIRTH.unpack(message)
                    self._note_birth(request, pid, array.array("i", ancillary[0][2][:4])[0])
                case b"X" if message[:1] == GONE:
                    _, pid, status, cpu_us, peak_kib = DEATH.unpack(message)
                    with self._lock:
                        slot = self._living.pop(pid)
                    slot.fill(Exit(status, cpu_us // 1000, peak_kib * 1024))
                case _:
                    return self._note_end()

    def _note_birth(self, request: int, pid: int, pidfd: int) -> None:
        slot = ExitSlot()
        with self._lock:
            self._living[pid] = slot
            born = self._births.pop(request, None)
        if born is None:
            os.close(pidfd)
        else:
            born.set_result((pid, pidfd, slot))

    def _note_end(self) -> None:
        """The zygote is gone; the kernel has killed its guests (PDEATHSIG), though nobody saw them end."""
        with self._lock:
            self._gone = True
            births, self._births = self._births, {}
            living, self._living = self._living, {}
        for born in births.values():
            born.set_exception(BrokenPipeError())
        for slot in living.values():
            slot.fill(Exit(None))
        self._control.close()
        self._process.wait()


def refuse_stranger(engine: Engine, said: Ready | Fatal) -> None:
    """Raises NotReady unless the guest's `ready` equals the host's manifest."""
    if isinstance(said, Fatal):
        raise not_ready(f"the guest did not start: {said.message}")
    if not engine.same(said.engine, said.engine_version, said.prelude_sha256):
        raise not_ready(f"the guest runs {said.engine} {said.engine_version} with another prelude or version than ours")


def not_ready(reason: str) -> NotReady:
    """The refusal every failure to start has."""
    return NotReady(f"the script engine is not ready: {reason}", code="ENGINE_NOT_READY", part="engine", reason=reason)
