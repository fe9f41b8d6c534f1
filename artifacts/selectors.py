"""Reads of artifacts: each asks who reads, and in which scope."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max

from artifacts import storage
from artifacts.models import Artifact
from forge_project.kernel.errors import Denied, Missing


def get_for(owner: str, ref: str, scopes: Mapping[str, str], *, workspace: str | None = None) -> Artifact:
    """The artifact, if it is `owner`'s and each scope it was stored under is the reader's.

    `workspace` None: not asked. Raises Missing; Denied IDENTITY_INVALID (another's) or SCOPE_DENIED.
    """
    found = Artifact.objects.filter(pk=ref).first()
    if found is None:
        raise Missing("artifact was not found", artifact=ref)
    if found.owner != owner:
        raise Denied("this artifact is another caller's", code="IDENTITY_INVALID", rule="artifact.owner")
    if any(scopes.get(name) != value for name, value in scopes_of(found).items()):
        raise Denied("this artifact belongs to another scope", rule="artifact.scope")
    if workspace is not None and found.workspace != workspace:
        raise Denied("this artifact belongs to another workspace", rule="artifact.workspace")
    return found


def content(artifact: Artifact, offset: int = 0, limit: int | None = None) -> bytes:
    """Its bytes, checked against its digest; up to `limit` from `offset`. Raises Failed where they are damaged."""
    return storage.read(artifact.sha256, offset, limit)


def scopes_of(artifact: Artifact) -> dict[str, str]:
    """The scopes it was stored under: task, node, role, worker where the request named them."""
    return dict(json.loads(artifact.scopes))


def metadata_of(artifact: Artifact) -> dict[str, Any]:
    """What its maker said of it."""
    return dict(json.loads(artifact.metadata))


def of_execution(execution_ref: str, stream: str | None = None) -> list[Artifact]:
    """An execution's artifacts in order, those of one stream where given."""
    rows = Artifact.objects.filter(execution_ref=execution_ref).order_by("created_at", "ref")
    return list(rows if stream is None else rows.filter(stream=stream))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How many artifacts an owner has, of which kinds, and when the latest was made."""

    total: int
    by_kind: dict[str, int]
    latest: datetime | None


def summary(owner: str | None = None) -> Summary:
    """Of one owner, or of all."""
    rows = Artifact.objects.all() if owner is None else Artifact.objects.filter(owner=owner)
    kinds = dict(rows.order_by("kind").values_list("kind").annotate(n=Count("pk")))
    return Summary(total=sum(kinds.values()), by_kind=kinds, latest=rows.aggregate(at=Max("created_at"))["at"])
