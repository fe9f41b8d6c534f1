"""patch.apply: every file of a proposal, or none, through any crash."""

from collections.abc import Mapping
from typing import Any

from executions.capabilities import preview, proposals, visible
from executions.capabilities.base import (
    Applied,
    ArtifactContent,
    ArtifactStore,
    Capability,
    Description,
    Effect,
    EffectBoundary,
    NotApplied,
    Outcome,
    Precondition,
    Recovery,
    Request,
    Risk,
    Settled,
    Unknown,
    closed_object,
)
from executions.capabilities.files import SHA256
from executions.capabilities.materialize import KIND, aim_at
from executions.capabilities.settle import Found, finish
from executions.capabilities.workspace import names
from executions.capabilities.workspace.stage import Change, Stages
from executions.capabilities.workspace.tree import Tree
from forge_project.kernel import failpoints
from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import Conflict, Denied, Failed, ForgeError, Unidentified

_HASH: dict[str, Any] = {"anyOf": [SHA256, {"type": "null"}]}


class PatchApply(Capability):
    """Results are staged beside their targets and renamed in path order; a crash between renames is finished by
    `reconcile` from the stages. Directories that a removal empties stay."""

    name, summary = "patch.apply", "Apply a stored patch proposal to the workspace"
    effect, risk, recovery_mode = Effect.WRITE, Risk.MEDIUM, Recovery.RECONCILE
    input_schema = closed_object(artifact_ref={"type": "string", "pattern": "^art_[0-9a-f]{32}\\Z"})
    result_schema = closed_object(
        artifact_ref={"type": "string"},
        files={"type": "array", "items": closed_object(path={"type": "string"}, before=_HASH, after=_HASH)},
    )

    def aim(self, given: Mapping[str, Any], artifacts: ArtifactStore) -> dict[str, Any]:
        return aim_at([names.plain(path) for path in artifacts.get(given["artifact_ref"]).metadata["paths"]])

    def observe(self, request: Request) -> Precondition:
        artifact = proposal(request)
        with Tree(request) as tree:
            return _seen(artifact, _plan(tree, artifact))

    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        artifact = proposal(request)
        with Tree(request) as tree:
            plan = _plan(tree, artifact)
            seen = _seen(artifact, plan)
            stages = Stages(tree, request.operation_id, plan.parents)
            try:
                for change in plan.changes:
                    stages.write(change)
                if _seen(artifact, _plan(tree, artifact)) != seen:
                    raise Conflict(
                        "a file changed while it was staged", code="PRECONDITION_FAILED", rule="file.changed"
                    )
                effect.begin(seen)
            except Exception:
                stages.drop((change.number, change.parts) for change in plan.changes)
                raise
            failpoints.reach("effect.before")
            for n, change in enumerate(plan.changes):
                if n or len(plan.changes) == 1:
                    failpoints.reach("effect.middle")
                stages.apply(
                    change.number, change.parts, existed=change.before is not None, removes=change.after is None
                )
            stages.sync()
            failpoints.reach("effect.after")
        return Outcome(result=_result(request, seen), effect_applied=True, evidence=_evidence(seen["files"]))

    def paths(self, value: Any, seen: Precondition | None) -> list[str]:
        """They stand in the proposal, so nobody knows them before it was looked at."""
        return [] if seen is None else [file["path"] for file in seen["files"]]

    def reconcile(self, request: Request, seen: Precondition) -> Settled:
        """No rename done: not applied. Some done and the rest staged: finished, applied. Safe to repeat."""
        with Tree(request) as tree:
            stages = Stages(tree, request.operation_id, seen.get("parents", ()))
            found = [Found.look(stages, number, file) for number, file in enumerate(seen["files"])]
            evidence = _evidence(seen["files"], found)
            if all(file.pending for file in found):
                return NotApplied()
            if not all(file.done or file.pending for file in found):
                return Unknown("some files are neither as patched nor as before with their stage", evidence)
            try:
                finish(stages, found)
            except ForgeError as fault:
                return Unknown(f"half applied, and finishing it failed: {fault.message}", evidence)
        return Applied(_result(request, seen), _evidence(seen["files"]))

    def discard(self, request: Request, seen: Precondition | None) -> None:
        with Tree(request) as tree:
            if seen is None:
                artifact = proposal(request)
                seen = _seen(artifact, _plan(tree, artifact))
            stages = Stages(tree, request.operation_id, seen.get("parents", ()))
            places = [(number, names.granted(file["path"])) for number, file in enumerate(seen["files"])]
            stages.drop(places, parents=True)

    def describe(self, request: Request, seen: Precondition) -> Description:
        artifact = proposal(request)
        with Tree(request) as tree:
            plan = _plan(tree, artifact)
        if _seen(artifact, plan) != seen:
            raise Conflict("a file changed while it was described", code="PRECONDITION_FAILED", rule="file.changed")
        diff, warnings = preview.changes(_file_change(change) for change in plan.changes)
        shown = [visible.name(path)[0] for path in plan.paths]
        return Description(
            sentence=f"Apply a patch to {_files(len(shown))} ({_kinds(plan)}): {', '.join(shown)}",
            target=", ".join(shown),
            reversible=True,  # the diff shown is also the way back
            preview=diff,
            warnings=warnings,
        )


def proposal(request: Request) -> ArtifactContent:
    """The proposal a request names; raises Missing, Conflict, Unidentified, Denied, in this order."""
    artifact = request.artifacts.get(request.input["artifact_ref"])
    if artifact.kind != KIND:
        raise Conflict("this artifact is no patch proposal", code="PRECONDITION_FAILED", rule="artifact.kind")
    if artifact.owner != request.caller_ref:
        raise Unidentified("this proposal is another caller's", rule="artifact.owner")
    if dict(artifact.scopes) != dict(request.scopes):
        raise Denied("this proposal belongs to another scope", rule="artifact.scope")
    if sha256(artifact.content) != artifact.sha256:
        raise Failed("the stored proposal is damaged", rule="artifact.digest")
    return artifact


def _plan(tree: Tree, artifact: ArtifactContent) -> proposals.Plan:
    facts = artifact.metadata
    base = proposals.Base(base_hash=facts.get("base_hash"), base_ref=facts.get("base_ref"), strict=True)
    return proposals.plan(tree, artifact.content, base)


def _seen(artifact: ArtifactContent, plan: proposals.Plan) -> Precondition:
    seen: Precondition = {
        "patch_hash": artifact.sha256,
        "base_hash": plan.base_hash,
        "base_ref": plan.base_ref,
        "files": [_entry(change) for change in plan.changes],
    }
    return seen | ({"parents": list(plan.parents)} if plan.parents else {})


def _entry(change: Change) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": "/".join(change.parts),
        "before": change.before.sha256 if change.before else None,
        "after": sha256(change.after) if change.after is not None else None,
    }
    # Hashes can't tell a change of mode, so it is recorded too.
    return entry | ({"executable": change.executable} if change.changes_mode else {})


def _result(request: Request, seen: Precondition) -> dict[str, Any]:
    files = [{key: file[key] for key in ("path", "before", "after")} for file in seen["files"]]
    return {"artifact_ref": request.input["artifact_ref"], "files": files}


def _evidence(files: list[dict[str, Any]], found: list[Found] | None = None) -> tuple[dict[str, Any], ...]:
    rows = [{"evidence_ref": f"file:{file['path']}@{file['after']}", "kind": "file", **file} for file in files]
    return tuple(row | {"now": file.now} for row, file in zip(rows, found, strict=True)) if found else tuple(rows)


def _file_change(change: Change) -> preview.FileChange:
    note = ("becomes executable" if change.executable else "is no longer executable") if change.changes_mode else ""
    if change.before is None and change.executable:
        note = "is executable"
    return preview.FileChange(
        "/".join(change.parts), change.before.content if change.before else None, change.after, note
    )


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _kinds(plan: proposals.Plan) -> str:
    added = sum(change.before is None for change in plan.changes)
    removed = sum(change.after is None for change in plan.changes)
    kinds = {"added": added, "changed": len(plan.changes) - added - removed, "removed": removed}
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
