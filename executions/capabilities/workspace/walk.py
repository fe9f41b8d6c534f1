"""Going through a directory tree by descriptors: sorted, bounded, past no link and into nothing protected."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from executions.capabilities.workspace import names
from executions.capabilities.workspace.names import Parts
from executions.capabilities.workspace.tree import Tree

MAX_DEPTH = 32
MAX_VISITS = 100_000  # names looked at in one walk

Kind = Literal["file", "directory", "symlink", "other"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One name; `size` in bytes, 0 for anything but a file."""

    parts: Parts
    type: Kind
    size: int

    @property
    def path(self) -> str:
        """A name that is no UTF-8 is shown with \\x escapes, and so can't be asked for."""
        return "/".join(self.parts).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shown(parts: Parts) -> str:
    """A path as text; a name that is no UTF-8 gets \\x escapes, and so can't be asked for."""
    return "/".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class Walk:
    """Iterates below `start`; `cut` is True afterwards when the bound was met."""

    def __init__(self, tree: Tree, start: Parts, depth: int) -> None:
        self.cut = False
        self._tree, self._start, self._depth = tree, start, depth
        self._left = MAX_VISITS

    def __iter__(self) -> Iterator[Entry]:
        descriptor = self._tree.directory(self._start)
        try:
            yield from self._below(descriptor, self._start, self._depth)
        finally:
            os.close(descriptor)

    def _below(self, here: int, parts: Parts, depth: int) -> Iterator[Entry]:
        with os.scandir(here) as names_here:
            found = [entry.name for entry in islice(names_here, self._left + 1)]
        self.cut = self.cut or len(found) > self._left
        self._left = max(0, self._left - len(found))
        for name in sorted(found):
            if names.protected(name):
                continue
            entry = _look(here, name, (*parts, name))
            if entry is None:
                continue
            yield entry
            if entry.type == "directory" and depth > 1 and self._left:
                yield from self._into(here, entry, depth - 1)
            self.cut = self.cut or (entry.type == "directory" and depth > 1 and not self._left)

    def _into(self, here: int, entry: Entry, depth: int) -> Iterator[Entry]:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            below = os.open(entry.parts[-1], flags, dir_fd=here)
        except OSError:  # gone, changed or closed to us since it was listed
            return
        try:
            yield from self._below(below, entry.parts, depth)
        finally:
            os.close(below)


def _look(here: int, name: str, parts: Parts) -> Entry | None:
    try:
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
    except OSError:
        return None
    if stat.S_ISREG(status.st_mode):
        return Entry(parts, "file", status.st_size)
    if stat.S_ISDIR(status.st_mode):
        return Entry(parts, "directory", 0)
    return Entry(parts, "symlink" if stat.S_ISLNK(status.st_mode) else "other", 0)


def matches(glob: str, parts: Parts) -> bool:
    """Whether `*`, `?` (within a name) and `**` (any directories) match; time is pattern x path, never more."""
    patterns = glob.split("/")
    states = {0}
    for part in parts:
        states = _skip(states, patterns)
        states = {n if patterns[n] == "**" else n + 1 for n in states if n < len(patterns) and _fits(patterns[n], part)}
    return len(patterns) in _skip(states, patterns)


def _skip(states: set[int], patterns: list[str]) -> set[int]:
    """`**` may stand for nothing."""
    reached = set(states)
    for n, pattern in enumerate(patterns):
        if n in reached and pattern == "**":
            reached.add(n + 1)
    return reached


def _fits(pattern: str, name: str) -> bool:
    if pattern == "**":
        return True
    p = n = 0
    star, resume = -1, 0
    while n < len(name):
        if p < len(pattern) and pattern[p] == "*":
            star, resume, p = p, n, p + 1
        elif p < len(pattern) and pattern[p] in {"?", name[n]}:
            p, n = p + 1, n + 1
        elif star >= 0:
            resume, p = resume + 1, star + 1
            n = resume
        else:
            return False
    return pattern[p:].strip("*") == ""
