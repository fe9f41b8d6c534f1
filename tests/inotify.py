"""Counts renames into a folder from outside: what `file.write` and `patch.apply` really did."""

import ctypes
import os
import struct

IN_MOVED_FROM, IN_MOVED_TO = 0x40, 0x80  # both: the kernel merges an event with an equal one right before it
_libc = ctypes.CDLL(None, use_errno=True)
_HEADER = struct.Struct("iIII")


class Renames:
    """Watches one folder from now on."""

    def __init__(self, folder) -> None:
        self._fd = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0 or _libc.inotify_add_watch(self._fd, os.fsencode(folder), IN_MOVED_FROM | IN_MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._names: list[str] = []

    def names(self) -> list[str]:
        """Every name that was renamed into the folder so far."""
        while True:
            try:
                data = os.read(self._fd, 65536)
            except BlockingIOError:
                return self._names
            while data:
                _, mask, _, size = _HEADER.unpack_from(data)
                name = data[_HEADER.size : _HEADER.size + size].rstrip(b"\0")
                if mask & IN_MOVED_TO:
                    self._names.append(os.fsdecode(name))
                data = data[_HEADER.size + size :]
