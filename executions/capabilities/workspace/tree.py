"""One workspace, opened: what is at a path, and its bytes, never past a symbolic link or a special file."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn, Self

from executions.capabilities.values import Request
from executions.capabilities.workspace import openat
from executions.capabilities.workspace.names import Parts
from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import Denied, Failed, ForgeError, Invalid, Missing, NotReady, TooLarge

MAX_EDIT = 4 * 1024 * 1024  # bytes of a file that is written or patched: it is held, diffed and shown whole


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A regular file as one open descriptor showed it."""

    content: bytes
    mode: int
    uid: int
    gid: int

    @property
    def sha256(self) -> str:
        """Hex digest of the content."""
        return sha256(self.content)


class Tree:
    """A workspace's root descriptor; raises Denied without a workspace, NotReady when its directory is gone."""

    def __init__(self, request: Request) -> None:
        if request.workspace is None:
            raise Denied("this call has no workspace", rule="path.no_workspace")
        try:
            self.root = os.open(request.workspace.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise NotReady("the workspace's directory cannot be opened", part="workspace") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.root)

    def directory(self, parts: Parts) -> int:
        """A readable descriptor of a directory; the caller closes it."""
        with self._at(parts) as found:
            if not stat.S_ISDIR(os.fstat(found).st_mode):
                raise Missing("not a directory", rule="path.not_directory", target="/".join(parts))
            with refusals(self.root, parts):
                return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)

    def is_directory(self, parts: Parts) -> bool:
        """Raises as every look does."""
        with self._at(parts) as found:
            return stat.S_ISDIR(os.fstat(found).st_mode)

    def file(self, parts: Parts) -> int:
        """A descriptor of a regular file for reading; the caller closes it. Hard links may be read: only Forge's
        own writes could break the file they share."""
        with self._at(parts) as found:
            return self._open(found, parts)

    def _open(self, found: int, parts: Parts) -> int:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise Denied("not a regular file", rule="path.not_regular", target="/".join(parts))
        with refusals(self.root, parts):
            # By descriptor: the very inode just judged, so no FIFO or device is ever opened.
            return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)

    def editable(self, parts: Parts) -> Snapshot | None:
        """What a write would replace, None when nothing is there; raises Denied for more than one hard link."""
        try:
            descriptor = self.file(parts)
        except Missing as absent:
            if absent.facts.get("rule") == "path.not_directory":
                raise
            return None
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())
            if status.st_nlink > 1:
                raise Denied("this file has other hard links", rule="path.hardlink", target="/".join(parts))
            content = stream.read(MAX_EDIT + 1)
        if len(content) > MAX_EDIT:
            raise TooLarge("the file is too large to edit", limit=MAX_EDIT, target="/".join(parts))
        return Snapshot(content, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)

    def absent_parents(self, parts: Parts) -> list[str]:
        """The directories above `parts` that do not exist, topmost first."""
        for depth in range(1, len(parts)):
            try:
                if not self.is_directory(parts[:depth]):
                    raise Missing("not a directory", rule="path.not_directory", target="/".join(parts[:depth]))
            except Missing as absent:
                if absent.facts.get("rule") == "path.not_directory":
                    raise
                return ["/".join(parts[:n]) for n in range(depth, len(parts))]
        return []

    @contextmanager
    def _at(self, parts: Parts) -> Iterator[int]:
        with refusals(self.root, parts):
            found = openat.handle(self.root, parts)
        try:
            yield found
        finally:
            os.close(found)


@contextmanager
def refusals(root: int, parts: Parts) -> Iterator[None]:
    """Turns what the system says about a path into Forge's words."""
    try:
        yield
    except ForgeError:
        raise
    except OSError as fault:
        _refuse(fault, root, parts)


def _refuse(fault: OSError, root: int, parts: Parts) -> NoReturn:
    target = "/".join(parts)
    match fault.errno:
        case errno.ENOENT:
            raise Missing("there is no such file or directory", rule="path.missing", target=target) from None
        case errno.ENOTDIR:
            raise Missing("not a directory", rule="path.not_directory", target=target) from None
        case errno.ELOOP | errno.EXDEV:
            rule = "path.outside" if _leads_out(root, parts) else "path.symlink"
            raise Denied("symbolic links are not followed", rule=rule, target=target) from None
        case errno.EACCES | errno.EPERM | errno.EROFS:
            raise Denied("the file system does not permit this", rule="path.permission", target=target) from None
        case errno.ENAMETOOLONG:
            raise Invalid("the path is too long", rule="path.long", path="/path") from None
        case errno.ENOSPC | errno.EDQUOT:
            raise Failed("the disk is full", rule="disk.full", target=target) from None
    raise Failed("the file system failed", rule="disk.error", target=target) from fault


def _leads_out(root: int, parts: Parts) -> bool:
    """For the refusal's words only: whether the first link on the way points out of the workspace."""
    for depth in range(len(parts)):
        try:
            link = os.readlink("/".join(parts[: depth + 1]), dir_fd=root)
        except OSError:
            continue
        at = os.path.normpath("/".join((*parts[:depth], link)))
        return link.startswith("/") or at == ".." or at.startswith("../")
    return False
