"""Example requests for the policy: what would be said of them, without anybody asking for anything."""

from collections.abc import Mapping, Sequence
from typing import Any

from approvals.conditions import Subject
from approvals.policy import Question
from approvals.ports import Known
from executions.capabilities.base import ArtifactContent, validate_input
from executions.models import Workspace
from executions.services import catalog
from executions.services.asking import facts_of
from forge_project.kernel.errors import Invalid, Missing

KEYS = {"caller", "workspace", "capability", "input", "expect", "rule"}


def capabilities() -> Sequence[Known]:
    """The catalog as rules may speak of it."""
    known = catalog.registry().all()
    return [Known(one.name, one.effect.value, tuple(one.input_schema.get("properties", {}))) for one in known]


def workspace_known(name: str) -> bool:
    """Whether a workspace has this name."""
    return Workspace.objects.filter(name=name).exists()


class _NoArtifacts:
    """An example has no caller whose artifacts could be read."""

    def get(self, ref: str) -> ArtifactContent:
        raise Missing("an example has no artifacts")


def pose(example: Mapping[str, Any]) -> Question:
    """An example {caller, workspace, capability, input} as a question. Raises Invalid with the path of its fault."""
    if unknown := sorted(set(example) - KEYS):
        raise Invalid(f"an example has no {unknown[0][:40]}", path=f"/{unknown[0][:40]}")
    for name in ("caller", "workspace", "capability"):
        if not isinstance(example.get(name, ""), str):
            raise Invalid(f"{name} is a text", path=f"/{name}")
    capability = catalog.find(example.get("capability", ""))
    if capability is None:
        raise Invalid("no such capability", path="/capability")
    given = example.get("input", {})
    try:
        validate_input(capability, given)
    except Invalid as fault:
        raise Invalid(fault.message, path=f"/input{fault.facts.get('path', '')}") from None
    name = example.get("workspace", "")
    place = Workspace.objects.filter(name=name).first() if name else None
    if name and place is None:
        raise Invalid("no such workspace", path="/workspace")
    return Question(
        caller=example.get("caller", ""),
        workspace=name,
        capability=capability.name,
        effect=capability.effect.value,
        network=capability.network,
        risk=capability.risk.value,
        subject=Subject(lambda: given, lambda: capability.aim(given, _NoArtifacts())),
        **facts_of(place),
    )
