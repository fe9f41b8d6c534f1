"""Opening below a directory descriptor without ever passing a symbolic link: the kernel does it, or we walk."""

import ctypes
import errno
import os
import stat
from functools import cache

from executions.capabilities.workspace.names import Parts

_SYS_OPENAT2 = 437  # one number on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_RESOLVE = _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS
_HANDLE = os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW
_NOREPLACE = 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _How(ctypes.Structure):
    """struct open_how (openat2(2))."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def kernel_has_openat2() -> bool:
    """False before Linux 5.6 and where a seccomp filter hides the call."""
    try:
        os.close(_openat2(-100, b"."))  # AT_FDCWD
    except OSError:
        return False
    return True


def handle(root: int, parts: Parts) -> int:
    """An O_PATH descriptor of what is at `parts`; raises OSError, ELOOP for a symbolic link anywhere in it."""
    if not parts:
        return os.open(".", _HANDLE | os.O_DIRECTORY, dir_fd=root)
    found = _openat2(root, os.fsencode("/".join(parts))) if kernel_has_openat2() else _walk(root, parts)
    if stat.S_ISLNK(os.fstat(found).st_mode):  # O_NOFOLLOW|O_PATH opens a last link itself
        os.close(found)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found


def _openat2(root: int, path: bytes) -> int:
    how = _How(_HANDLE, 0, _RESOLVE)
    for _ in range(8):  # EAGAIN: a rename somewhere at the same moment
        ctypes.set_errno(0)
        found = int(
            _libc.syscall(
                ctypes.c_long(_SYS_OPENAT2),
                ctypes.c_int(root),
                ctypes.c_char_p(path),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
        )
        if found >= 0 or ctypes.get_errno() != errno.EAGAIN:
            break
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def _walk(root: int, parts: Parts) -> int:
    here = os.dup(root)
    try:
        for part in parts[:-1]:
            here = _step(here, part)
        return os.open(parts[-1], _HANDLE, dir_fd=here)
    finally:
        os.close(here)


def _step(here: int, part: str) -> int:
    try:
        below = os.open(part, _HANDLE | os.O_DIRECTORY, dir_fd=here)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(part, dir_fd=here, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    os.close(here)
    return below


def place(name: str, source: int, target: str, directory: int) -> None:
    """Renames into `directory` where `target` must not exist; raises FileExistsError."""
    found = -1
    ctypes.set_errno(errno.ENOSYS)
    if hasattr(_libc, "renameat2"):
        found = _libc.renameat2(source, os.fsencode(name), directory, os.fsencode(target), _NOREPLACE)
    if found == 0:
        return
    if ctypes.get_errno() not in {errno.ENOSYS, errno.EINVAL}:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)
    os.rename(name, target, src_dir_fd=source, dst_dir_fd=directory)  # a file system without NOREPLACE
