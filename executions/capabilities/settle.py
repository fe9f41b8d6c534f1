"""After a crash: where each file of a patch stands, and finishing what can be finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from executions.capabilities.workspace import names
from executions.capabilities.workspace.names import Parts
from executions.capabilities.workspace.stage import Stages
from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import ForgeError

UNREADABLE = "unreadable"  # stands where a hash would: a link, a directory, too large …


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One file of a recorded precondition as it is now; `now` is its SHA-256, None when absent.

    A stage that is still there proves that its rename did not happen, whatever the file holds. `done`: as patched, and
    nothing staged. `pending`: still to be done and it can be. Neither: somebody else was here.
    """

    number: int
    parts: Parts
    existed: bool
    removes: bool
    now: str | None
    done: bool
    pending: bool

    @classmethod
    def look(cls, stages: Stages, number: int, file: Mapping[str, Any]) -> Self:
        """Reads the file and its stage."""
        parts = names.granted(file["path"])
        now, executable = _now(stages, parts)
        wanted = file.get("executable")
        staged = stages.read(number, parts)
        removes = file["after"] is None
        known = now in {file["before"], file["after"]}
        return cls(
            number=number,
            parts=parts,
            existed=file["before"] is not None,
            removes=removes,
            now=now,
            done=staged is None and now == file["after"] and (wanted is None or executable == wanted),
            pending=now == file["before"] if removes else known and staged is not None and _is(staged, file["after"]),
        )


def _is(staged: bytes, digest: str) -> bool:
    return sha256(staged) == digest


def _now(stages: Stages, parts: Parts) -> tuple[str | None, bool | None]:
    try:
        found = stages.tree.editable(parts)
    except ForgeError:
        return UNREADABLE, None
    return (found.sha256, bool(found.mode & 0o100)) if found else (None, None)


def finish(stages: Stages, found: Sequence[Found]) -> None:
    """Renames what is still staged; raises ForgeError. Safe to repeat: each step is looked at again by the next try."""
    for file in found:
        if not file.done:
            stages.apply(file.number, file.parts, existed=file.existed, removes=file.removes)
    stages.drop((file.number, file.parts) for file in found)
    stages.sync()
