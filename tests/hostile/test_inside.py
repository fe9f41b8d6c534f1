"""From inside a real guest, by a program that owns the whole process: what it may ask the kernel, what it can see.

The guest is forked and hardened as ever; only instead of giving the source to the engine it runs it as Python.
"""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from executions.sandbox import Zygote
from executions.sandbox import zygote as zygote_module
from executions.sandbox.inside.namespaces import FLAGS
from tests.unit.sandbox.driving import start

OWNED = (
    'text = wire.read(0).decode().split(\'"source":"\')[1].split(\'","input"\')[0]; '
    "exec(text.replace('\\\\n', '\\n'), globals())"
)
# The system calls a taken-over guest would want (x86-64, aarch64), each with arguments that would be fine.
FORBIDDEN = {
    "openat": ((257, 56), "-100, b'/etc/passwd', 0"),
    "socket": ((41, 198), "2, 1, 0"),
    "socketpair": ((53, 199), "1, 1, 0, ctypes.create_string_buffer(8)"),
    "connect": ((42, 203), "0, b'', 0"),
    "sendmsg": ((46, 211), "0, 0, 0"),
    "clone": ((56, 220), "17, 0, 0, 0, 0"),
    "clone3": ((435, 435), "0, 0"),
    "execve": ((59, 221), "b'/bin/true', 0, 0"),
    "kill": ((62, 129), "1, 0"),
    "ptrace": ((101, 117), "0, 0, 0, 0"),
    "process_vm_readv": ((310, 270), "1, 0, 0, 0, 0, 0"),
    "dup": ((32, 23), "0"),
    "mount": ((165, 40), "0, b'/', 0, 0, 0"),
    "unshare": ((272, 97), "0"),
    "setuid": ((105, 146), "0"),
    "prctl": ((157, 167), "4, 1, 0, 0, 0"),
    "mprotect": ((10, 226), "0, 0, 4"),
    "memfd_create": ((319, 279), "b'x', 0"),
    "io_uring_setup": ((425, 425), "1, 0"),
    "bpf": ((321, 280), "0, 0, 0"),
    "setrlimit": ((160, 164), "9, 0"),
}
COLUMN = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)


@pytest.fixture(scope="module", params=["seccomp+ns", "seccomp"])
def owned(request, tmp_path_factory):
    """A zygote whose guests run their source as Python; also with the namespaces refused by the kernel."""
    place = tmp_path_factory.mktemp("owned")
    shutil.copytree(zygote_module._HERE / "inside", place / "inside")
    child = place / "inside" / "child.py"
    child.write_text(
        child.read_text()
        .replace("status = Turns(nature.vm, Budget(nature.vm.context, cpu_ms)).drive()", OWNED)
        .replace("import os\n", "import os, ctypes, time\n_libc = ctypes.CDLL(None)\n", 1)
    )
    if request.param == "seccomp":
        refuse_namespaces(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zygote_module, "_HERE", place)
        patch.setenv("FORGE_SECRET_KEY", "canary")
        zygote = Zygote.start()
    if zygote.isolation == "seccomp" != request.param:
        zygote.close()
        pytest.skip(zygote.selection_reason)
    assert zygote.isolation == request.param
    yield zygote
    zygote.close()


def refuse_namespaces(place):
    """As on a kernel that refuses them: one bit no kernel knows."""
    module = place / "inside" / "namespaces.py"
    module.write_text(module.read_text().replace("FLAGS = _USER", "FLAGS = 1 | _USER"))


def death(zygote, code):
    """How a guest that ran `code` ended: minus the signal, or its exit status."""
    guest = zygote.spawn(start(code + "\nos._exit(9)"))
    guest.receive(deadline=time.monotonic() + 5)
    assert guest.kill()
    status = guest._exits.wait(0).wait_status
    return os.waitstatus_to_exitcode(status)


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_system_call_is_sigsys(owned, name):
    numbers, given = FORBIDDEN[name]
    assert death(owned, f"_libc.syscall({numbers[COLUMN]}, {given})") == -signal.SIGSYS


def test_there_are_enough_of_them():
    assert len(FORBIDDEN) >= 19


def test_the_probe_itself_lives(owned):
    assert death(owned, "time.process_time()") == 9
    assert death(owned, "x = bytearray(1 << 20)") == 9


@pytest.mark.parametrize("fd", [1, 2, 3, 4, 5, 9, 100])
def test_no_descriptor_but_its_own(owned, fd):
    assert death(owned, f"try: os.read({fd}, 1)\nexcept OSError as e: os._exit(e.errno)") == 9  # EBADF


def test_no_canary_anywhere_in_its_memory(owned):
    """The environment's strings lie where the kernel put them at exec: above the stack."""
    assert death(owned, "assert 'FORGE' not in str(os.environ)") == 9
    guest = owned.spawn(start("os.read(0, 1)"))
    try:
        maps = Path(f"/proc/{guest.pid}/maps").read_text().splitlines()
        with open(f"/proc/{guest.pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                first, last = (int(part, 16) for part in line.split()[0].split("-"))
                if " rw-p " in line:
                    memory.seek(first)
                    assert b"canary" not in memory.read(last - first)
    finally:
        guest.kill()


def test_its_namespaces_and_user(owned):
    guest = owned.spawn(start("os.read(0, 1)"))
    try:
        proc = Path(f"/proc/{guest.pid}")
        status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line)
        if os.geteuid() == 0:
            assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65534"}
            assert status["Groups"].strip() == ""
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        mine = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("user", "net", "pid", "ipc", "mnt", "uts")}
        its = {name: os.readlink(proc / "ns" / name) for name in mine}
        if owned.isolation == "seccomp":
            assert its == mine
            assert owned.selection_reason.startswith("namespaces refused: ")
            return
        assert not set(its.items()) & set(mine.items())
        assert status["NSpid"].split()[0] == str(guest.pid)
        assert len(status["NSpid"].split()) == 2
        assert [line.split()[4] for line in (proc / "mountinfo").read_text().splitlines()] == ["/"]
        assert list((proc / "root").iterdir()) == []
        assert (proc / "net" / "dev").read_text().count(":") == 1  # lo, and it is down
        assert FLAGS.bit_count() == len(its)
    finally:
        guest.kill()
