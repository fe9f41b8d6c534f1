"""artifact.patch-proposal.materialize: a diff becomes an immutable proposal, tied to the base it fits."""

from collections.abc import Mapping
from typing import Any

from executions.capabilities import proposals, visible
from executions.capabilities.base import (
    NO_TARGET,
    ArtifactStore,
    Capability,
    Description,
    Effect,
    EffectBoundary,
    NewArtifact,
    Outcome,
    Precondition,
    Recovery,
    Request,
    Risk,
    closed_object,
)
from executions.capabilities.diffs.model import MAX_DIFF
from executions.capabilities.diffs.parse import parse
from executions.capabilities.files import SHA256
from executions.capabilities.workspace import names
from executions.capabilities.workspace.tree import Tree
from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import Invalid

KIND = "patch-proposal"
REF: dict[str, Any] = {"anyOf": [{"type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})\\Z"}, {"type": "null"}]}


class PatchProposalMaterialize(Capability):
    """A diff that does not fit the workspace is refused here already; a base that is given must be the present one."""

    name = "artifact.patch-proposal.materialize"
    summary = "Store a unified diff as a proposal that patch.apply can apply"
    effect, risk, recovery_mode = Effect.INTERNAL, Risk.LOW, Recovery.IDEMPOTENT
    input_schema = closed_object(
        ["diff"],
        diff={"type": "string", "minLength": 1, "maxLength": MAX_DIFF},
        base_hash={"anyOf": [SHA256, {"type": "null"}]},
        base_ref=REF,
    )
    result_schema = closed_object(
        artifact_ref={"type": "string"}, sha256=SHA256, paths={"type": "array", "items": {"type": "string"}},
        base_hash=SHA256, base_ref=REF,
    )  # fmt: skip

    def aim(self, given: Mapping[str, Any], artifacts: ArtifactStore) -> dict[str, Any]:
        return aim_at([names.plain(path) for path in parse(given["diff"].encode()).paths])

    def observe(self, request: Request) -> Precondition:
        diff, plan = _planned(request)
        return {"patch_hash": sha256(diff), "base_hash": plan.base_hash, "base_ref": plan.base_ref, "paths": plan.paths}

    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        """`artifact_ref` in the result is the store's to fill in (Outcome.result_with)."""
        diff, plan = _planned(request)
        facts = {"paths": plan.paths, "base_hash": plan.base_hash, "base_ref": plan.base_ref}
        proposal = NewArtifact(kind=KIND, mime="text/x-diff", content=diff, metadata=facts, into="artifact_ref")
        return Outcome(result={"artifact_ref": "", "sha256": sha256(diff), **facts}, artifacts=(proposal,))

    def describe(self, request: Request, seen: Precondition) -> Description:
        shown = [visible.name(path)[0] for path in seen["paths"]]
        text, points = visible.content(request.input["diff"])
        return Description(
            sentence=f"Store a proposal to change {', '.join(shown)}",
            target=", ".join(shown),
            reversible=True,
            preview={"kind": "text", "text": text},
            warnings=(f"Hidden characters, shown as code points: {', '.join(points)}",) if points else (),
        )


def aim_at(paths: list[str]) -> dict[str, Any]:
    """The target of a change to `paths`; with several there is no one `path`, and a condition on it fails."""
    target = NO_TARGET | {"paths": paths}
    if len(paths) == 1:
        return target | {"path": paths[0]}
    return {name: value for name, value in target.items() if name != "path"}


def _planned(request: Request) -> tuple[bytes, proposals.Plan]:
    try:
        diff = request.input["diff"].encode()
    except UnicodeEncodeError:
        raise Invalid("the diff is not Unicode text", path="/diff", rule="content.encoding") from None
    base = proposals.Base(base_hash=request.input.get("base_hash"), base_ref=request.input.get("base_ref"))
    with Tree(request) as tree:
        return diff, proposals.plan(tree, diff, base)
