"""HEAD's commit read from `.git` without running git and without believing it: any oddity is None."""

import os
import re

from executions.capabilities.workspace import names
from executions.capabilities.workspace.names import Parts
from executions.capabilities.workspace.tree import Tree
from forge_project.kernel.errors import ForgeError

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LOOSE, _PACKED = 4096, 8 * 1024 * 1024  # bytes read at most
_DEPTH = 5  # symbolic refs followed, as in git


def commit(tree: Tree) -> str | None:
    """The commit HEAD names; None for an unborn branch, a linked worktree, or no repository of the workspace's own."""
    ref = "HEAD"
    for _ in range(_DEPTH):
        text = _text(tree, ref, _LOOSE)
        if text is None:
            return _packed(tree, ref)
        if _COMMIT.fullmatch(text.strip()):
            return text.strip()
        if not text.startswith("ref: refs/"):
            return None
        ref = text.removeprefix("ref:").strip()
    return None


def _packed(tree: Tree, ref: str) -> str | None:
    for line in (_text(tree, "packed-refs", _PACKED) or "").split("\n"):
        if line[0:1] not in {"#", "^"} and line.partition(" ")[2] == ref:
            found = line.partition(" ")[0]
            return found if _COMMIT.fullmatch(found) else None
    return None


def _text(tree: Tree, name: str, limit: int) -> str | None:
    try:
        inside: Parts = names.split(name)
        descriptor = tree.file((".git", *inside))
    except ForgeError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(limit).decode("utf-8", "replace")
