"""Counts effects from outside Forge: files that were renamed into place, as the kernel saw it."""

import ctypes
import os
import struct
from pathlib import Path
from typing import Self

from forge_project.kernel.canonical import sha256

_IN_MOVED_FROM, _IN_MOVED_TO, _IN_Q_OVERFLOW = 0x40, 0x80, 0x4000
# The kernel merges an event with an equal one right before it, cookies aside: two renames to one name would count once.
# The event of what was renamed away keeps them apart.
_WATCHED = _IN_MOVED_FROM | _IN_MOVED_TO
_NONBLOCK, _CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_EVENT = struct.Struct("iIII")


class Watch:
    """Every directory of a tree, .git apart; a rename of the same content is seen too."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = _tree(root)
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(_NONBLOCK | _CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._folders: dict[int, Path] = {}
        for folder in _folders(root):
            watched = libc.inotify_add_watch(self._fd, os.fsencode(folder), _WATCHED)
            if watched < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch")
            self._folders[watched] = folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def renamed(self) -> list[str]:
        """The path of each rename into place since the last look, in order."""
        seen = []
        while data := self._read():
            at = 0
            while at < len(data):
                watched, mask, _, length = _EVENT.unpack_from(data, at)
                name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
                at += _EVENT.size + length
                if mask & _IN_Q_OVERFLOW:
                    raise OverflowError("more renames than the kernel keeps")
                if not mask & _IN_MOVED_TO:
                    continue
                seen.append(str((self._folders[watched] / os.fsdecode(name)).relative_to(self._root)))
        return seen

    def changed(self) -> list[str]:
        """The files whose content is not what it was at the start."""
        after = _tree(self._root)
        return sorted(path for path in self._before.keys() | after if self._before.get(path) != after.get(path))

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 65_536)
        except BlockingIOError:
            return b""


def _folders(root: Path) -> list[Path]:
    found = []
    for folder, names, _ in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        found.append(Path(folder))
    return found


def _tree(root: Path) -> dict[str, str]:
    files = [path for folder in _folders(root) for path in folder.iterdir() if path.is_file()]
    return {str(path.relative_to(root)): sha256(path.read_bytes()) for path in files}
