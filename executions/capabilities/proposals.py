"""What a diff would do to a workspace as it is now: shared by proposing a patch and by applying it."""

from dataclasses import dataclass

from executions.capabilities import markers
from executions.capabilities.diffs.apply import apply
from executions.capabilities.diffs.model import FilePatch, refuse
from executions.capabilities.diffs.parse import parse
from executions.capabilities.workspace import head, names
from executions.capabilities.workspace.stage import Change
from executions.capabilities.workspace.tree import MAX_EDIT, Snapshot, Tree
from forge_project.kernel.canonical import canonical, sha256
from forge_project.kernel.errors import Conflict, TooLarge

MAX_TOTAL = 32 * 1024 * 1024  # bytes of all touched files, before or after: they are held and diffed together


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every change of a patch, by path, on the base it was computed from."""

    base_hash: str
    base_ref: str | None
    changes: tuple[Change, ...]
    parents: tuple[str, ...]  # directories that adding files would make

    @property
    def paths(self) -> list[str]:
        """Sorted."""
        return ["/".join(change.parts) for change in self.changes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What a patch must find; without `strict`, None stands for anything, with it for "no commit"."""

    base_hash: str | None
    base_ref: str | None
    strict: bool = False

    def check(self, base_hash: str, base_ref: str | None) -> None:
        """Raises Conflict, code PRECONDITION_FAILED, rule patch.base_hash or patch.base_ref."""
        for name, wanted, found in (("hash", self.base_hash, base_hash), ("ref", self.base_ref, base_ref)):
            if wanted != found and (wanted is not None or self.strict):
                message = f"the workspace is not at the patch's base {name}"
                raise Conflict(message, code="PRECONDITION_FAILED", rule=f"patch.base_{name}", found=found)


def plan(tree: Tree, diff: bytes, base: Base) -> Plan:
    """Raises PatchRefused, Invalid, Denied, TooLarge, or Conflict off its base; changes nothing."""
    patch = parse(diff)
    before = {path: tree.editable(names.granted(path)) for path in patch.paths}
    hashes = [[path, found.sha256 if found else None] for path, found in before.items()]
    base_hash, base_ref = sha256(canonical(hashes)), head.commit(tree)
    # First: a patch that is applied already must be told from one that never fitted.
    base.check(base_hash, base_ref)
    contents = {path: found.content for path, found in before.items() if found}
    after = apply(contents, patch)
    if max(sum(map(len, contents.values())), sum(len(new or b"") for new in after.values())) > MAX_TOTAL:
        raise TooLarge("the touched files are too large together", limit=MAX_TOTAL)
    by_path = {file.path: file for file in patch.files}
    changes = tuple(_change(n, by_path[path], before[path], after[path]) for n, path in enumerate(patch.paths))
    absent = {parent for change in changes if change.before is None for parent in tree.absent_parents(change.parts)}
    return Plan(base_hash=base_hash, base_ref=base_ref, changes=changes, parents=tuple(sorted(absent)))


def _change(number: int, file: FilePatch, before: Snapshot | None, after: bytes | None) -> Change:
    markers.refuse_new(before.content if before else None, after, file.path)
    if len(after or b"") > MAX_EDIT:
        raise TooLarge("the patched file is too large", limit=MAX_EDIT, target=file.path)
    if file.was_executable is not None and before and bool(before.mode & 0o100) != file.was_executable:
        raise refuse("the file's mode is not the patch's old mode", "mode", target=file.path)
    parts = names.split(file.path)
    return Change(number=number, parts=parts, before=before, after=after, executable=file.executable)
