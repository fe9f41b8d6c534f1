"""Content written beside its target and renamed into place: the only way Forge changes a file."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from executions.capabilities.workspace import names, openat
from executions.capabilities.workspace.names import Parts
from executions.capabilities.workspace.tree import Snapshot, Tree, refusals
from forge_project.kernel.errors import Conflict, ForgeError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file's change: `parts` gets `after`; None removes it. `number` tells an operation's stages apart."""

    number: int
    parts: Parts
    before: Snapshot | None
    after: bytes | None
    executable: bool | None = None

    @property
    def changes_mode(self) -> bool:
        """Whether an existing file becomes executable or stops being so."""
        return self.before is not None and self.executable not in {None, bool(self.before.mode & 0o100)}

    @property
    def mode(self) -> int:
        """Permission bits of the new content; set-id bits fall, as at any write."""
        mode = self.before.mode & 0o777 if self.before else 0o644
        if self.executable is None:
            return mode
        return mode | (mode & 0o444) >> 2 if self.executable else mode & ~0o111


@dataclass(slots=True)
class Stages:
    """An operation's staged files; `parents` are the directories that did not exist when it was observed."""

    tree: Tree
    operation_id: str
    parents: Iterable[str] = ()
    touched: set[Parts] = field(default_factory=set)

    def home(self, parts: Parts) -> Parts:
        """The directory a stage for `parts` lies in: the target's, or the nearest one that existed."""
        absent = set(self.parents)
        here = parts[:-1]
        while "/".join(here) in absent:
            here = here[:-1]
        return here

    def name(self, number: int) -> str:
        """How reconcile finds it again."""
        return f"{names.STAGE_PREFIX}{self.operation_id}.{number}"

    def write(self, change: Change) -> None:
        """Puts the new content beside its target, on disk; nothing to do for a removal."""
        if change.after is None:
            return
        here = self.tree.directory(self.home(change.parts))
        try:
            with refusals(self.tree.root, change.parts):
                self._write(here, change, change.after)
        finally:
            os.close(here)

    def _write(self, here: int, change: Change, content: bytes) -> None:
        name = self.name(change.number)
        with suppress(FileNotFoundError):  # left by an earlier try of this same operation, which never began
            os.unlink(name, dir_fd=here)
        with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=here), "wb") as stream:
            stream.write(content)
            stream.flush()
            if change.before is not None:
                with suppress(PermissionError):  # only a privileged worker can keep another owner
                    os.fchown(stream.fileno(), change.before.uid, change.before.gid)
            os.fchmod(stream.fileno(), change.mode)
            os.fsync(stream.fileno())

    def read(self, number: int, parts: Parts) -> bytes | None:
        """A stage's content, None when there is none."""
        try:
            found = self.tree.editable((*self.home(parts), self.name(number)))
        except ForgeError:
            return None
        return found.content if found else None

    def apply(self, number: int, parts: Parts, *, existed: bool, removes: bool) -> None:
        """The effect on one file: its stage takes its place, or it is unlinked."""
        self._make_parents(parts)
        here = self.tree.directory(parts[:-1])
        try:
            with refusals(self.tree.root, parts):
                self._apply(here, number, parts, existed=existed, removes=removes)
        finally:
            os.close(here)
        self.touched |= {parts[:-1], self.home(parts)}

    def _apply(self, here: int, number: int, parts: Parts, *, existed: bool, removes: bool) -> None:
        if removes:
            os.unlink(parts[-1], dir_fd=here)
            return
        home = self.tree.directory(self.home(parts))
        try:
            if existed:
                os.rename(self.name(number), parts[-1], src_dir_fd=home, dst_dir_fd=here)
            else:
                openat.place(self.name(number), home, parts[-1], here)
        except FileExistsError:
            raise Conflict("a file appeared there", code="PRECONDITION_FAILED", rule="path.exists") from None
        finally:
            os.close(home)

    def _make_parents(self, parts: Parts) -> None:
        for depth in range(len(self.home(parts)) + 1, len(parts)):
            here = self.tree.directory(parts[: depth - 1])
            try:
                with refusals(self.tree.root, parts[:depth]), suppress(FileExistsError):
                    os.mkdir(parts[depth - 1], 0o755, dir_fd=here)
            finally:
                os.close(here)
            self.touched.add(parts[: depth - 1])

    def sync(self) -> None:
        """The renames are on disk when this returns."""
        for parts in sorted(self.touched):
            here = self.tree.directory(parts)
            try:
                os.fsync(here)
            finally:
                os.close(here)

    def drop(self, changes: Iterable[tuple[int, Parts]], *, parents: bool = False) -> None:
        """Removes what is left of the operation: its stages and, if asked, the directories it made, when empty."""
        for number, parts in changes:
            self._remove(self.home(parts), self.name(number), os.unlink)
        for path in sorted(self.parents, reverse=True) if parents else ():
            parts = tuple(path.split("/"))
            self._remove(parts[:-1], parts[-1], os.rmdir)

    def _remove(self, parts: Parts, name: str, remove: Callable[..., None]) -> None:
        with suppress(ForgeError, OSError):
            here = self.tree.directory(parts)
            try:
                remove(name, dir_fd=here)
            finally:
                os.close(here)
