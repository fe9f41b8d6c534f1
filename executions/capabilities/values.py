"""The closed values that capabilities and the machine hand each other."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

Precondition = dict[str, Any]  # JSON: what the executor saw just before its effect
_OPERATION = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Effect(StrEnum):
    """What a capability does to the world."""

    READ = "read"
    WRITE = "write"
    PROCESS = "process"
    EXTERNAL = "external"
    INTERNAL = "internal"


class Risk(StrEnum):
    """How much harm a wrong call can do; orders the approvers' queue."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Recovery(StrEnum):
    """How a call is settled when its outcome was lost (design.md, recovery modes)."""

    REPLAY_SAFE = "replay_safe"
    IDEMPOTENT = "idempotent"
    RECONCILE = "reconcile"
    REATTACH = "reattach"
    NEVER_AUTO_RETRY = "never_auto_retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A granted directory; `root` is absolute and never `/` (ValueError: no root means no access)."""

    name: str
    root: Path

    def __post_init__(self) -> None:
        if not self.root.is_absolute() or self.root == Path("/"):
            raise ValueError(f"the root of workspace {self.name!r} must be an absolute directory below /")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactContent:
    """A stored artifact with its bytes, as the store vouches for it."""

    ref: str
    kind: str
    owner: str
    scopes: Mapping[str, str]
    sha256: str
    metadata: Mapping[str, Any]
    content: bytes


class ArtifactStore(Protocol):
    """Immutable content by reference."""

    def get(self, ref: str) -> ArtifactContent:
        """The artifact; raises Missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call's validated input and who it is for; `operation_id` names its traces in the world."""

    input: Mapping[str, Any]
    operation_id: str
    caller_ref: str
    workspace: Workspace | None
    scopes: Mapping[str, str]
    artifacts: ArtifactStore

    def __post_init__(self) -> None:
        if not _OPERATION.fullmatch(self.operation_id):  # it becomes part of file names
            raise ValueError("an operation id is 1-128 characters of A-Z a-z 0-9 _ -")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArtifact:
    """Content to store with the outcome; its ref is written into the result under `into`, when given."""

    kind: str
    mime: str
    content: bytes
    metadata: Mapping[str, Any] = field(default_factory=dict)
    into: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an executor reports; `result` is JSON of at most 4 MiB."""

    result: dict[str, Any]
    successful: bool = True
    effect_applied: bool = False
    evidence: tuple[dict[str, Any], ...] = ()
    artifacts: tuple[NewArtifact, ...] = ()

    def result_with(self, refs: Sequence[str]) -> dict[str, Any]:
        """The result with the refs the store gave to `artifacts`, in their order."""
        pairs = zip(self.artifacts, refs, strict=True)
        return self.result | {artifact.into: ref for artifact, ref in pairs if artifact.into is not None}


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect is in the world; `result` is synthesized from what was seen."""

    result: dict[str, Any]
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class NotApplied:
    """The world is as before; nothing of the effect is left."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither can be shown; a person decides by `why` and `evidence`."""

    why: str
    evidence: tuple[dict[str, Any], ...] = ()


Settled = Applied | NotApplied | Unknown


class EffectBoundary(Protocol):
    """The line an effect crosses once."""

    @property
    def operation_id(self) -> str:
        """The operation whose effect this is."""

    def begin(self, precondition: Precondition) -> None:
        """Journals the dispatch; raises when the effect may not happen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What the approver is shown, written by the server; deceptive characters are escaped and named in `warnings`."""

    sentence: str
    target: str
    reversible: bool
    preview: dict[str, Any]
    warnings: tuple[str, ...] = ()
