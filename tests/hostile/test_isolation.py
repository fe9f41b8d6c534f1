"""The walls themselves, looked at from outside on real processes."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from executions.sandbox import Complete, Fatal, Settled, Turn, Zygote
from executions.sandbox.inside.seccomp import ALLOWED, ARCHITECTURES, build
from tests.unit.sandbox.driving import NOW, start

ROOT = Path(__file__).parents[2]
INSIDE = ROOT / "executions" / "sandbox"


def asleep(zygote):
    """A guest that waits for its host, with the turn it sent."""
    guest = zygote.spawn(start("await sleep(1)"))
    assert isinstance(guest.receive(deadline=time.monotonic() + 5), Turn)
    return guest


def status(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def gone(pid, seconds=5.0):
    """Whether `pid` has ended (a zombie nobody reaps here has too) within `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if status(pid)["State"].startswith("Z"):
                return True
        except FileNotFoundError:
            return True
        os.sched_yield()
    return False


def hardened(code):
    """Wait status of a process that locks itself like a guest and then runs `code`."""
    script = f"""
    import sys; sys.path.insert(0, {str(INSIDE)!r})
    import ctypes, mmap, os, socket, time
    from inside import hardening
    from inside.seccomp import Filter
    filter_ = Filter(); libc = ctypes.CDLL(None)
    hardening.lock(filter_)
    {code}
    os._exit(0)
    """
    return subprocess.run([sys.executable, "-I", "-S", "-B", "-c", textwrap.dedent(script)]).returncode


@pytest.mark.parametrize(
    "code",
    [
        "os.getpid()",
        "os.fork()",
        "os.open('/etc/passwd', os.O_RDONLY)",
        "socket.socket()",
        "os.execv('/bin/true', ['true'])",
        "os.kill(1, 0)",
        "os.dup(0)",
        "time.sleep(0.001)",
        "libc.mprotect(0, 0, 0)",
        "libc.ptrace(0, 0, 0, 0)",
        "libc.mmap(0, 4096, 5, 0x22, -1, 0)",  # PROT_READ | PROT_EXEC
        "libc.syscall(0x40000000)",  # the x32 table
    ],
)
def test_a_forbidden_system_call_is_sigsys(code):
    assert hardened(code) == -signal.SIGSYS


@pytest.mark.parametrize(
    ("before", "number"),
    [
        ("", signal.SIGPROF),
        ("import signal; signal.signal(signal.SIGPROF, signal.SIG_IGN)", signal.SIGXCPU),
    ],
)
def test_the_kernels_own_cpu_limits(before, number):
    script = f"""
    import sys; sys.path.insert(0, {str(INSIDE)!r})
    from inside import hardening
    {before}
    hardening.limit(cpu_ms=100, address_bytes=1 << 40)
    while True: pass
    """
    assert subprocess.run([sys.executable, "-I", "-S", "-B", "-c", textwrap.dedent(script)]).returncode == -number


def test_what_a_guest_needs_is_allowed():
    assert hardened("time.process_time(); x = bytearray(64 << 20); libc.mmap(0, 4096, 3, 0x22, -1, 0)") == 0


def test_both_tables_have_every_call_and_kill_by_default():
    for architecture, column in ARCHITECTURES.values():
        code = build(architecture, column)
        assert len(code) % 8 == 0
        assert code[-4:] == (0x80000000).to_bytes(4, "little")
    assert len(set(ALLOWED.values())) == 10


def test_a_guest_has_a_socket_and_nothing_else(zygote):
    guest = asleep(zygote)
    try:
        proc = Path(f"/proc/{guest.pid}")
        fds = {fd.name: os.readlink(fd) for fd in (proc / "fd").iterdir()}
        seen = status(guest.pid)
        limits = {line[:25].strip(): line[25:].split()[0] for line in (proc / "limits").read_text().splitlines()[1:]}
        assert list(fds) == ["0"]
        assert fds["0"].startswith("socket:")
        assert (proc / "environ").read_bytes() == b""
        assert (seen["Seccomp"], seen["NoNewPrivs"], seen["Threads"]) == ("2", "1", "1")
        assert int(seen["SigCgt"], 16) == 0
        assert limits["Max open files"] == limits["Max core file size"] == limits["Max file size"] == "0"
        assert limits["Max processes"] == "0"
        assert int(limits["Max cpu time"]) == 14
        assert int(limits["Max address space"]) < 1 << 30
    finally:
        assert guest.kill()


def test_secrets_of_the_worker_are_not_in_the_zygote(monkeypatch):
    monkeypatch.setenv("FORGE_SECRET_KEY", "canary")
    zygote = Zygote.start()
    try:
        guest = asleep(zygote)
        for pid in (guest.pid, int(status(guest.pid)["PPid"])):
            assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        guest.kill()
    finally:
        zygote.close()


def test_the_zygote_knows_nothing_of_forge(zygote):
    guest = asleep(zygote)
    maps = Path(f"/proc/{guest.pid}/maps").read_text()
    guest.kill()
    assert "_quickjs" in maps
    assert "ssl" not in maps
    assert "crypto" not in maps


def test_a_forbidden_call_in_a_guest_is_classified(zygote):
    guest = asleep(zygote)
    os.kill(guest.pid, signal.SIGSYS)
    end = guest.receive(deadline=time.monotonic() + 5)
    assert (end.code, end.message) == ("ISOLATE_FAILURE", "the guest made a forbidden system call")
    guest.kill()


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGXCPU, "CPU_LIMIT"),
        (signal.SIGPROF, "CPU_LIMIT"),
        (signal.SIGALRM, "TIMEOUT"),
        (signal.SIGKILL, "ISOLATE_FAILURE"),
        (signal.SIGSEGV, "ISOLATE_FAILURE"),
        (signal.SIGABRT, "ISOLATE_FAILURE"),
    ],
)
def test_a_death_by_signal_has_its_code(zygote, number, code):
    guest = asleep(zygote)
    os.kill(guest.pid, number)
    assert guest.receive(deadline=time.monotonic() + 5).code == code
    assert guest.kill()


@pytest.mark.parametrize("source", ["for(;;);", "/^(a+)+$/.test('a'.repeat(40)+'b')", "await sleep(1)"])
def test_deadline_and_cancel_kill_at_once(zygote, source):
    for stop, code in ((None, "TIMEOUT"), (lambda: True, "CANCELLED")):
        guest = zygote.spawn(start(source))
        began = time.monotonic()
        while isinstance(end := guest.receive(deadline=began + 0.3, stop=stop), Turn):
            pass
        assert isinstance(end, Fatal)
        assert end.code == code
        assert time.monotonic() - began < 0.8
        assert guest.kill()


def test_another_thread_may_kill(zygote):
    guest = asleep(zygote)
    assert guest.kill()
    assert guest.receive(deadline=time.monotonic() + 5).code == "CANCELLED"
    assert guest.kill()


def test_usage_is_known_at_the_end(zygote):
    guest = zygote.spawn(start("const a = []; for (let i = 0; i < 3e5; i++) a.push([i]); return 1"))
    assert isinstance(guest.receive(deadline=time.monotonic() + 10), Complete)
    assert guest.kill()
    assert guest.usage.cpu_ms > 10
    assert guest.usage.peak_bytes > 10 << 20


def test_replay_has_a_cpu_allowance_of_its_own(zygote):
    guest = zygote.spawn(start("for(;;);", cpu_ms=200, replaying=True))
    assert guest.receive(deadline=time.monotonic() + 10).code == "CPU_LIMIT"
    guest.kill()
    assert 380 < guest.usage.cpu_ms < 600


def test_only_live_time_counts_against_the_cpu_limit(zygote):
    guest = zygote.spawn(start("await sleep(1); for(;;);", cpu_ms=500, replaying=True))
    guest.receive(deadline=time.monotonic() + 5)
    guest.go_live()
    guest.settle([Settled(n=1)], grant=1, now=NOW)
    assert guest.receive(deadline=time.monotonic() + 10).code == "CPU_LIMIT"
    guest.kill()
    assert 500 < guest.usage.cpu_ms < 900  # the guest's own allowance would have been 1,000


WORKER = """
import sys, time
from executions.sandbox import Zygote
from tests.unit.sandbox.driving import start
zygote = Zygote.start()
guest = zygote.spawn(start("for(;;);", cpu_ms=60000))
other = zygote.spawn(start("await sleep(1)"))
print(zygote._process.pid, guest.pid, other.pid, flush=True)
time.sleep(600)
"""


def test_guests_die_with_a_killed_worker():
    command = [sys.executable, "-c", WORKER]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    try:
        pids = [int(pid) for pid in worker.stdout.readline().split()]
        assert len(pids) == 3
        assert not any(gone(pid, 0.01) for pid in pids)
    finally:
        worker.kill()
        worker.communicate()
    assert all(gone(pid) for pid in pids)
