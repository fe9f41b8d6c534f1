"""A parsed patch: files, hunks and lines as bytes."""

from dataclasses import dataclass
from typing import Any

from forge_project.kernel.errors import Invalid

MAX_DIFF = 1024 * 1024  # bytes
MAX_FILES = 200


@dataclass(frozen=True, slots=True)
class Hunk:
    """`old` is replaced by `new` near line `start` (from 1; 0 in a new file); lines keep their terminators."""

    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    trailing: int  # context lines at the end; none means the hunk reaches the end of the file


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """One file's part; `executable` is the new mode, None when the patch says none."""

    path: str
    adds: bool = False
    removes: bool = False
    was_executable: bool | None = None
    executable: bool | None = None
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """Files in the order of the diff, each path once."""

    files: tuple[FilePatch, ...]

    @property
    def paths(self) -> list[str]:
        """Sorted."""
        return sorted(file.path for file in self.files)


class PatchRefused(Invalid):
    """Code INVALID_REQUEST; `rule` is patch.*, `target` the file, `line` the diff's line (from 1)."""


def refuse(message: str, rule: str, target: str | None = None, **facts: Any) -> PatchRefused:
    """The refusal, with the pointer every Invalid carries."""
    where: dict[str, Any] = {"target": target} if target is not None else {}
    return PatchRefused(message, rule=f"patch.{rule}", path="/diff", **where, **facts)
