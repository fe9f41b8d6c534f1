"""The zygote: warms one engine context and forks a guest of it for each request. Single-threaded, empty environment."""

import _signal as signal
import array
import gc
import os
import select
import sys
import time
from _socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET, socket

from . import hardening, namespaces, wire
from .child import Nature, live
from .control import BIRTH, BORN, DEATH, GONE, HELLO, MESSAGE_BYTES, READY, REQUEST
from .prelude_files import prelude_sha256, prelude_text
from .seccomp import Filter
from .vm import Vm, installed


def main() -> None:
    """argv: the parent's pid and the control descriptor (then the import paths, see the host's zygote.py)."""
    parent, control = int(sys.argv[1]), int(sys.argv[2])
    hardening.die_with_parent(parent)
    os.environ["TZ"] = "UTC"
    time.tzset()
    hardening.default_signals()
    text = prelude_text()
    digest = prelude_sha256(text)
    filter_, weakness = _usable_filter()
    engine, version = installed()
    identity = f'{{"engine":"{engine}","engine_version":"{version}","prelude_hash":"{digest}"}}'
    vm = Vm(text)
    size, resident = hardening.statm()
    refused = _closed_off()
    hardening.die_with_parent(parent)  # another user's process has forgotten it
    hardening.fixed_limits()
    first = None if refused else namespaces.keep_alive(filter_)
    nature = Nature(
        vm=vm,
        filter_=filter_,
        ready=wire.frame("ready", 0, identity),
        address_bytes=size,
        parent=os.getpid() if refused else 0,
    )
    gc.collect()
    gc.freeze()
    gc.disable()
    level = "weak" if filter_ is None else "seccomp" if refused else "seccomp+ns"
    reason = "; ".join(part for part in (weakness, refused) if part)
    said = "\n".join((level, reason, digest))
    channel = socket(fileno=control)
    channel.send(HELLO.pack(READY, resident) + said.encode())
    Nursery(channel, nature, first).run()


def _closed_off() -> str:
    """Root no longer, and in namespaces of our own where they can be had; else why not. Nothing opens a file later."""
    refused = namespaces.refusal()
    try:
        namespaces.drop_user()
    except OSError as error:
        return f"{refused}; root kept: {error.strerror}"
    if not refused:
        namespaces.enter()
    return refused


def _usable_filter() -> tuple[Filter | None, str]:
    """The filter, if a trial child with it dies of SIGSYS as it should; else why not."""
    try:
        filter_ = Filter()
    except OSError as error:
        return None, str(error)
    pid = os.fork()
    if pid == 0:
        try:
            hardening.lock(filter_)
            os.getppid()  # not on the list
        finally:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
        return filter_, ""
    return None, "the kernel refused the seccomp filter"


class Nursery:
    """Forks on request and reaps; a pidfd per guest in the poll set takes the place of SIGCHLD."""

    def __init__(self, control: socket, nature: Nature, first: int | None) -> None:
        self._control, self._nature, self._first = control, nature, first
        self._pids: dict[int, int] = {}  # by pidfd
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        if first is not None:
            self._poll.register(first, select.POLLIN)

    def run(self) -> None:
        """Until the host closes its end: then this process ends, and its guests with it."""
        control = self._control.fileno()
        while True:
            for fd, _ in self._poll.poll():
                if fd == self._first:
                    return  # the PID namespace has ended and all its guests with it
                if fd != control:
                    self._reap(fd)
                elif not self._fork():
                    return

    def _fork(self) -> bool:
        message, ancillary, _, _ = self._control.recvmsg(MESSAGE_BYTES, CMSG_SPACE(4))
        if not message:
            return False
        _, request, cpu_ms, memory_bytes, stack_bytes = REQUEST.unpack(message)
        guest_end = array.array("i", ancillary[0][2][:4])[0]
        pid = os.fork()
        if pid == 0:
            live(self._nature, guest_end, cpu_ms, memory_bytes, stack_bytes)
        os.close(guest_end)
        pidfd = os.pidfd_open(pid)
        self._pids[pidfd] = pid
        self._poll.register(pidfd, select.POLLIN)
        attached = [(SOL_SOCKET, SCM_RIGHTS, array.array("i", [pidfd]))]
        self._control.sendmsg([BIRTH.pack(BORN, request, pid)], attached)
        return True

    def _reap(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        os.close(pidfd)
        pid, status, usage = os.wait4(self._pids.pop(pidfd), 0)
        cpu = int((usage.ru_utime + usage.ru_stime) * 1_000_000)
        self._control.send(DEATH.pack(GONE, pid, status, cpu, usage.ru_maxrss))
