"""Namespaces of one zygote, made once and shared by its guests: another user, no network, no file, no other process.

A guest could not use what it shares with its sisters: it has ten system calls. So nothing is paid for at each start.
"""

import ctypes
import os
from collections.abc import Callable

from . import hardening
from .seccomp import Filter

_NOBODY = 65534
_USER, _NET, _PID, _IPC, _MOUNT, _UTS = 0x10000000, 0x40000000, 0x20000000, 0x08000000, 0x00020000, 0x04000000
FLAGS = _USER | _NET | _PID | _IPC | _MOUNT | _UTS
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC, _RECURSIVE, _PRIVATE = 1, 2, 4, 8, 1 << 14, 1 << 18
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPABILITY_VERSION = 0x20080522
_PR_SET_DUMPABLE = 4

_libc = ctypes.CDLL(None, use_errno=True)


def refusal() -> str:
    """Why these namespaces can't be had here, by a trial child; empty if they can."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        _try_in_child(theirs)
    os.close(theirs)
    with open(ours, "rb") as said:
        reason = said.read().decode(errors="replace")
    status = os.waitpid(pid, 0)[1]
    return reason or ("" if status == 0 else f"the trial ended with status {status}")


def _try_in_child(told: int) -> None:
    try:
        drop_user()
        enter()
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        os._exit(0)
    except OSError as error:
        os.write(told, f"namespaces refused: {error.strerror or error} ({error.filename or 'fork'})".encode())
    finally:
        os._exit(1)


def drop_user() -> None:
    """Root becomes nobody; anyone else stays who it is. Clears PDEATHSIG."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def enter() -> None:
    """Everything this process has not opened yet is out of its reach from here on; OSError names what was refused."""
    uid, gid = os.geteuid(), os.getegid()
    _do("dumpable", _libc.prctl, _PR_SET_DUMPABLE, 1, 0, 0, 0)  # else the maps below belong to root
    _do("unshare", _libc.unshare, FLAGS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    _empty_root()
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _do("capset", _libc.capset, header, (ctypes.c_uint32 * 6)())
    _do("dumpable", _libc.prctl, _PR_SET_DUMPABLE, 0, 0, 0, 0)


def _empty_root() -> None:
    """The only mount left is an empty read-only one."""
    _do("private mounts", _libc.mount, None, b"/", None, _RECURSIVE | _PRIVATE, None)
    flags = _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC
    _do("tmpfs", _libc.mount, b"none", b"/proc", b"tmpfs", flags, b"size=4k,nr_inodes=1,mode=555")
    os.chdir("/proc")
    number = _PIVOT_ROOT.get(os.uname().machine, -1)
    _do("pivot_root", _libc.syscall, number, b".", b".")
    _do("umount", _libc.umount2, b".", _DETACH)
    os.chdir("/")


def keep_alive(filter_: Filter | None) -> int:
    """Forks the PID namespace's first process, which waits for the zygote's end; its pidfd. Without it no guest."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(theirs)
            hardening.die_with_parent(0)  # a parent outside the namespace has no number
            hardening.keep_only(ours)
            hardening.lock(filter_)
            os.read(0, 1)
        finally:
            os._exit(0)
    os.close(ours)  # `theirs` stays open as long as the zygote lives
    return os.pidfd_open(pid)


def _do(what: str, function: Callable[..., int], *given: object) -> None:
    if function(*given):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what)
