"""Store content, then register it: the bytes outside any transaction, the record in that of its outcome."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from uuid6 import uuid7

from artifacts import storage
from artifacts.models import Artifact, Kind
from forge_project.kernel import canonical, clock
from forge_project.kernel.errors import Conflict, Invalid

_FORMS = {
    "sha256": re.compile(r"[0-9a-f]{64}"),
    "mime": re.compile(r"[\x20-\x7e]{1,200}"),
    "stream": re.compile(r"[a-z-]{0,20}"),
    "ref": re.compile(r"(art_[0-9a-f]{32})?"),
}
SCOPES = frozenset(("task", "node", "role", "worker"))
_SAME = [field.attname for field in Artifact._meta.concrete_fields if field.attname not in {"ref", "created_at"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """One record over stored content. A `ref`, or an `operation_id` to derive one from, makes a repeat the same row.

    `ordinal` tells an operation's artifacts of one kind apart; `scopes`: task, node, role, worker where given.
    """

    kind: str
    owner: str
    sha256: str
    bytes: int
    mime: str
    workspace: str = ""
    scopes: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    execution_ref: str = ""
    call_id: str = ""
    stream: str = ""
    ref: str = ""
    operation_id: str = ""
    ordinal: int = 0


def store(content: bytes) -> str:
    """The digest of `content`, stored durably and once. Works on files: call it outside any transaction."""
    return storage.write(content)


def register(asked: Register) -> Artifact:
    """The record; an exact repeat returns the first. Raises Invalid; Conflict IDEMPOTENCY_CONFLICT for a ref taken."""
    row = _row(asked)
    # Of two transactions with one ref the second waits here for the first, and then reads what it wrote.
    Artifact.objects.bulk_create([row], ignore_conflicts=True)
    kept = Artifact.objects.get(pk=row.pk)
    if any(getattr(kept, name) != getattr(row, name) for name in _SAME):
        raise Conflict("this artifact ref names other content", code="IDEMPOTENCY_CONFLICT", artifact=row.pk)
    return kept


def derived_ref(owner: str, operation_id: str, kind: str, ordinal: int = 0) -> str:
    """The ref an operation's artifact always has: `art_` and 32 hex."""
    named = canonical.canonical([owner, operation_id, kind, ordinal])
    return "art_" + hashlib.sha256(named).hexdigest()[:32]


def _row(asked: Register) -> Artifact:
    if asked.kind not in Kind.values:
        raise Invalid("no such kind of artifact", path="/kind")
    if not set(asked.scopes) <= SCOPES:
        raise Invalid("scopes are task, node, role and worker", path="/scopes")
    for name, form in _FORMS.items():
        if not form.fullmatch(getattr(asked, name)):
            raise Invalid(f"not a well-formed {name}", path=f"/{name}")
    again = derived_ref(asked.owner, asked.operation_id, asked.kind, asked.ordinal) if asked.operation_id else ""
    return Artifact(
        ref=asked.ref or again or f"art_{uuid7().hex}",
        kind=Kind(asked.kind).value,
        owner=asked.owner,
        workspace=asked.workspace,
        scopes=canonical.text({name: value for name, value in asked.scopes.items() if value}),
        sha256=asked.sha256,
        mime=asked.mime,
        bytes=asked.bytes,
        metadata=canonical.text(dict(asked.metadata)),
        execution_ref=asked.execution_ref,
        call_id=asked.call_id,
        stream=asked.stream,
        created_at=clock.now(),
    )
