"""The directories agents may work in, and which agents may."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from executions.models import Workspace, WorkspaceAccess
from executions.services.accounts import agent
from executions.states import Access
from forge_project.kernel import actors
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger.governance import governing, record


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWorkspace:
    """A directory under a name; `hosts` serve it (none given: this one)."""

    name: str
    path: str
    hosts: Sequence[str] = ()
    actor: str = field(default_factory=actors.shell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """That `agent` may use `workspace`."""

    workspace: str
    agent: str
    mode: Access = Access.WRITE
    actor: str = field(default_factory=actors.shell)


def add_workspace(asked: AddWorkspace) -> Workspace:
    """The new workspace, at its real path. Raises Invalid, Conflict."""
    hosts = sorted(set(asked.hosts)) or [settings.FORGE_HOST_ID]
    row = Workspace(name=asked.name, path=str(_real(asked.path)), hosts=hosts)
    try:
        row.clean_fields()
    except ValidationError as fault:
        raise Invalid("; ".join(f"{name}: {' '.join(told)}" for name, told in fault.message_dict.items())) from None
    try:
        with governing():
            _check_apart(row)
            row.save(force_insert=True)
            record("workspace.added", actor=asked.actor, name=row.name, path=row.path, hosts=hosts)
    except IntegrityError:
        raise Conflict(f"there is a workspace {asked.name} already") from None
    return row


def grant(asked: Grant) -> WorkspaceAccess:
    """The agent's access, with the mode asked for from now on. Raises Missing."""
    place, user = workspace(asked.workspace), agent(asked.agent).user
    with governing():
        had = WorkspaceAccess.objects.filter(workspace=place, user=user).values_list("mode", flat=True).first()
        access, _ = WorkspaceAccess.objects.update_or_create(workspace=place, user=user, defaults={"mode": asked.mode})
        if had != asked.mode:
            said = {"agent": asked.agent, "mode": str(asked.mode)} | ({"was": str(had)} if had else {})
            record("workspace.granted", actor=asked.actor, name=place.name, **said)
    return access


def revoke(name: str, agent_name: str, *, actor: str = "") -> None:
    """Takes the access away; what runs meets it at its next dispatch. Raises Missing."""
    with governing():
        gone, _ = WorkspaceAccess.objects.filter(workspace=workspace(name), user=agent(agent_name).user).delete()
        if not gone:
            raise Missing(f"{agent_name} has no access to {name}")
        record("workspace.revoked", actor=actor or actors.shell(), name=name, agent=agent_name)


def workspace(name: str) -> Workspace:
    """The workspace of this name; raises Missing."""
    found = Workspace.objects.filter(name=name).first()
    if found is None:
        raise Missing(f"no such workspace: {name}")
    return found


def listed() -> list[dict[str, object]]:
    """Every workspace with who may use it, as JSON."""
    return [
        {
            "name": row.name,
            "kind": row.kind,
            "path": row.path,
            "hosts": row.hosts,
            "access": {one.user.get_username(): one.mode for one in row.access.all()},
        }
        for row in Workspace.objects.order_by("name").prefetch_related("access__user")
    ]


def _real(given: str) -> Path:
    if not given.startswith("/") or "\0" in given:
        raise Invalid(f"{given!r} is not an absolute path", path="/path")
    path = Path(os.path.realpath(given))
    if not path.is_dir():
        raise Invalid(f"{given} is not an existing directory", path="/path")
    if path == Path("/"):
        raise Invalid("the whole file system is no workspace", path="/path")
    var = Path(os.path.realpath(settings.FORGE_VAR))
    if _overlap(path, var):
        raise Invalid(f"{path} and Forge's own files in {var} must lie apart", path="/path")
    return path


def _check_apart(new: Workspace) -> None:
    """A workspace's lock guards its files: two workspaces on one host must not share any."""
    for row in Workspace.objects.exclude(name=new.name):
        if set(row.hosts) & set(new.hosts) and _overlap(Path(row.path), Path(new.path)):
            raise Conflict(f"{new.path} and workspace {row.name} ({row.path}) must lie apart")


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
