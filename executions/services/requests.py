"""A call as its executor gets it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from artifacts import selectors as artifacts
from artifacts import storage
from executions.capabilities.base import ArtifactContent, Request, Workspace
from executions.models import Call, Execution
from executions.services import sealed

SCOPES = {"task": "task_id", "node": "node_id", "role": "role_ref", "worker": "worker_ref"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerArtifacts:
    """The caller's own artifacts, as capabilities see them."""

    owner: str
    workspace: str
    scopes: Mapping[str, str]

    def get(self, ref: str) -> ArtifactContent:
        """The artifact; raises Missing, or Denied where it is another's or of another scope."""
        row = artifacts.get_for(self.owner, ref, dict(self.scopes), workspace=self.workspace)
        return ArtifactContent(
            ref=row.ref,
            kind=row.kind,
            owner=row.owner,
            scopes=artifacts.scopes_of(row),
            sha256=row.sha256,
            metadata=sealed.parse(row.metadata),
            content=storage.read(row.sha256),
        )


def scopes(execution: Execution) -> dict[str, str]:
    """The scopes that artifacts of this execution carry."""
    return {scope: str(execution.scope[name]) for scope, name in SCOPES.items() if execution.scope.get(name)}


def request_of(call: Call, execution: Execution) -> Request:
    """The validated input in the clear, with whom and what it is for."""
    place = execution.workspace
    return Request(
        input=sealed.unseal(call.sealed_input),
        operation_id=call.operation_id,
        caller_ref=execution.caller_ref,
        workspace=Workspace(name=place.name, root=Path(place.path)) if place else None,
        scopes=scopes(execution),
        artifacts=artifacts_of(execution),
    )


def artifacts_of(execution: Execution) -> CallerArtifacts:
    """The artifacts this execution's calls may name."""
    place = execution.workspace.name if execution.workspace else ""
    return CallerArtifacts(owner=execution.caller_ref, workspace=place, scopes=scopes(execution))
