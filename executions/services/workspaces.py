"""The directories agents may work in, and which agents may."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from executions.models import Workspace, WorkspaceAccess
from executions.services import gate
from executions.services.accounts import agent
from executions.states import ISOLATIONS, Access, Isolation, WorkspaceKind
from forge_project.kernel import actors
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.kernel.network.hosts import entries
from forge_project.ledger.governance import governing, record


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWorkspace:
    """A directory under a name; `hosts` serve it (none given: this one); `network_hosts` may be read by its calls."""

    name: str
    path: str
    hosts: Sequence[str] = ()
    isolation: str = Isolation.SHARED
    network_hosts: Sequence[str] = ()
    actor: str = field(default_factory=actors.shell)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWorkspace:
    """What a workspace lets pass from now on; None = as it is. The list of hosts is given whole."""

    name: str
    isolation: str | None = None
    network_hosts: Sequence[str] | None = None
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
    says = checked(row.kind, asked.isolation, asked.network_hosts)
    row.isolation, row.network_hosts = says["isolation"], says["network_hosts"]
    try:
        row.clean_fields()
    except ValidationError as fault:
        raise Invalid("; ".join(f"{name}: {' '.join(told)}" for name, told in fault.message_dict.items())) from None
    try:
        with governing():
            _check_apart(row)
            row.save(force_insert=True)
            record("workspace.added", actor=asked.actor, name=row.name, path=row.path, hosts=hosts, **says)
    except IntegrityError:
        raise Conflict(f"there is a workspace {asked.name} already") from None
    return row


def change_workspace(asked: ChangeWorkspace) -> Workspace:
    """The workspace as it is from now on, at every dispatch that is not under way yet. Raises Invalid, Missing."""
    with transaction.atomic():
        gate.shut()  # every dispatch under way is over, and later ones see what is written here
        row = workspace(asked.name)
        was = {"isolation": row.isolation, "network_hosts": row.network_hosts}
        isolation = row.isolation if asked.isolation is None else asked.isolation
        hosts = row.network_hosts if asked.network_hosts is None else asked.network_hosts
        says = checked(row.kind, isolation, hosts)
        new = {name: value for name, value in says.items() if value != was[name]}
        if new:
            Workspace.objects.filter(pk=row.pk).update(**new)
            record("workspace.changed", actor=asked.actor, name=row.name, **new, was={name: was[name] for name in new})
    return workspace(asked.name)


def checked(kind: str, isolation: str, network_hosts: Sequence[str]) -> dict[str, Any]:
    """Both columns in their one spelling. Raises Invalid with the column's path."""
    if isolation not in ISOLATIONS[WorkspaceKind(kind)]:
        raise Invalid(f"a {kind} can't be {isolation[:40]}: its executions share it", path="/isolation")
    hosts = entries(network_hosts, allowed=settings.FORGE_NETWORK_ALLOW)
    return {"isolation": str(isolation), "network_hosts": hosts}


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
            "isolation": row.isolation,
            "network_hosts": row.network_hosts,
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
