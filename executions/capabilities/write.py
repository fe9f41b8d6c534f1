"""file.write: one file, replaced whole by a rename."""

from typing import Any

from executions.capabilities import encoding, markers, preview, visible
from executions.capabilities.base import (
    Applied,
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
from executions.capabilities.files import COUNT, PATH, SHA256
from executions.capabilities.workspace import names
from executions.capabilities.workspace.stage import Change, Stages
from executions.capabilities.workspace.tree import Snapshot, Tree
from forge_project.kernel import failpoints
from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import Conflict, ForgeError, Missing, TooLarge

MAX_CONTENT = 1024 * 1024  # bytes


class FileWrite(Capability):
    """`expected_hash` is the SHA-256 the file must have now, null for "must not exist"."""

    name, summary = "file.write", "Write a whole file of the workspace"
    effect, risk, recovery_mode = Effect.WRITE, Risk.MEDIUM, Recovery.RECONCILE
    input_schema = closed_object(
        ["path", "content"],
        path=PATH,
        content={"type": "string"},
        encoding=encoding.ENCODING,
        create_parents={"type": "boolean"},
        expected_hash={"anyOf": [SHA256, {"type": "null"}]},
    )
    result_schema = closed_object(path={"type": "string"}, sha256=SHA256, bytes=COUNT, created={"type": "boolean"})

    def observe(self, request: Request) -> Precondition:
        with Tree(request) as tree:
            return _observe(tree, request)[0]

    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        with Tree(request) as tree:
            seen, before = _observe(tree, request)
            parts = names.granted(seen["path"])
            stages = Stages(tree, request.operation_id, seen.get("parents", ()))
            try:
                stages.write(Change(number=0, parts=parts, before=before, after=_content(request)))
                if _observe(tree, request)[0] != seen:
                    raise Conflict(
                        "the file changed while it was staged", code="PRECONDITION_FAILED", rule="file.changed"
                    )
                effect.begin(seen)
            except Exception:
                stages.drop([(0, parts)])
                raise
            failpoints.reach("effect.before")
            failpoints.reach("effect.middle")
            stages.apply(0, parts, existed=before is not None, removes=False)
            stages.sync()
            failpoints.reach("effect.after")
        return Outcome(result=_result(request, seen), effect_applied=True, evidence=(_evidence(seen),))

    def reconcile(self, request: Request, seen: Precondition) -> Settled:
        """By the stage, which was on disk before the effect began: still there, the rename did not happen, whoever
        wrote what meanwhile; gone, it did. By the hashes for what else must be so. Changes nothing: safe to repeat."""
        with Tree(request) as tree:
            parts = names.granted(seen["path"])
            stages = Stages(tree, request.operation_id, seen.get("parents", ()))
            try:
                found = tree.editable(parts)
            except ForgeError as fault:
                return Unknown(f"the file cannot be read: {fault.message}")
            now = found.sha256 if found else None
            staged = stages.read(0, parts) is not None
        if now not in {seen["before_hash"], seen["after_hash"]}:
            why = "the file is neither as before nor as written" + (
                "; the staged copy was not renamed" if staged else ""
            )
            return Unknown(why, (_evidence(seen, now=now),))
        if staged:
            return NotApplied()
        if now != seen["after_hash"]:
            return Unknown("the file is as before, but its staged copy is gone", (_evidence(seen, now=now),))
        return Applied(_result(request, seen), (_evidence(seen, now=now),))

    def discard(self, request: Request, seen: Precondition | None) -> None:
        with Tree(request) as tree:
            seen = seen or _observe(tree, request)[0]
            stages = Stages(tree, request.operation_id, seen.get("parents", ()))
            stages.drop([(0, names.granted(seen["path"]))], parents=True)

    def describe(self, request: Request, seen: Precondition) -> Description:
        content = _content(request)
        with Tree(request) as tree:
            now, before = _observe(tree, request)
        if now != seen:
            raise Conflict("the file changed while it was described", code="PRECONDITION_FAILED", rule="file.changed")
        shown = visible.name(seen["path"])[0]
        change = preview.FileChange(seen["path"], before.content if before else None, content)
        diff, warnings = preview.changes([change])
        return Description(
            sentence=f"Write {len(content)} bytes to {shown} ({_how(seen, before)})",
            target=shown,
            reversible=True,  # the diff shown is also the way back
            preview=diff,
            warnings=warnings,
        )


def _observe(tree: Tree, request: Request) -> tuple[Precondition, Snapshot | None]:
    path, content = request.input["path"], _content(request)
    parts = names.granted(path)
    before = tree.editable(parts)
    parents = tree.absent_parents(parts) if before is None else []
    if parents and not request.input.get("create_parents", False):
        raise Missing("the directory does not exist", rule="path.parent_missing", target=parents[0])
    now = before.sha256 if before else None
    if request.input.get("expected_hash", now) != now:
        raise Conflict("the file is not as expected", code="PRECONDITION_FAILED", rule="file.expected_hash", found=now)
    markers.refuse_new(before.content if before else None, content, path)
    seen: dict[str, Any] = {"path": path, "before_hash": now, "after_hash": sha256(content)}
    if before is not None:
        seen["mode"] = f"{before.mode & 0o777:04o}"
    if parents:
        seen["parents"] = parents  # reconcile finds the stage, and removes what was made, by these
    return seen, before


def _content(request: Request) -> bytes:
    content = encoding.decode(request.input["content"], request.input.get("encoding", "utf-8"))
    if len(content) > MAX_CONTENT:
        raise TooLarge("the content is too large", limit=MAX_CONTENT)
    return content


def _result(request: Request, seen: Precondition) -> dict[str, Any]:
    return {
        "path": seen["path"], "sha256": seen["after_hash"], "bytes": len(_content(request)),
        "created": seen["before_hash"] is None,
    }  # fmt: skip


def _evidence(seen: Precondition, **now: str | None) -> dict[str, Any]:
    ref = f"file:{seen['path']}@{seen['after_hash']}"
    return {"evidence_ref": ref, "kind": "file", "path": seen["path"], "before": seen["before_hash"],
            "after": seen["after_hash"], **now}  # fmt: skip


def _how(seen: Precondition, before: Snapshot | None) -> str:
    if before is None:
        return "a new file" + (f", in {len(seen['parents'])} new directories" if seen.get("parents") else "")
    kept = "content stays the same" if seen["before_hash"] == seen["after_hash"] else "content changes"
    return f"currently {len(before.content)} bytes; {kept}"
