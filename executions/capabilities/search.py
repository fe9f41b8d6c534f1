"""file.searchText: ripgrep's linear engine over the workspace's text files."""

import base64
import json
import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import islice
from typing import Any

from executions.capabilities import visible
from executions.capabilities.base import (
    Capability,
    Description,
    Effect,
    EffectBoundary,
    Outcome,
    Precondition,
    Recovery,
    Request,
    Risk,
    closed_object,
)
from executions.capabilities.files import DIRECTORY
from executions.capabilities.workspace import names, ripgrep, walk
from executions.capabilities.workspace.names import Parts
from executions.capabilities.workspace.tree import Tree
from forge_project.kernel.errors import Denied, Missing

DEADLINE = 10.0  # seconds for the whole search
MAX_FILE = 8 * 1024 * 1024  # bytes; a larger file is skipped and the answer says truncated
MAX_TEXT = 500  # characters of a shown line
_JSON = 4 * 1024 * 1024 - 16 * 1024


class FileSearchText(Capability):
    """One match a line, its first; columns count characters from 1. Protected names, links and binaries are skipped."""

    name, summary = "file.searchText", "Search the workspace's files for text or a regular expression"
    effect, risk, recovery_mode = Effect.READ, Risk.LOW, Recovery.REPLAY_SAFE
    input_schema = closed_object(
        ["query"],
        query={"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[^\\u0000\\n]*\\Z"},
        regex={"type": "boolean"},
        paths={
            "type": "array", "minItems": 1, "maxItems": 50,
            "items": DIRECTORY,
        },
        max_matches={"type": "integer", "minimum": 1, "maximum": 10_000},
    )  # fmt: skip
    result_schema = closed_object(
        matches={
            "type": "array",
            "items": closed_object(
                path={"type": "string"}, line={"type": "integer", "minimum": 1},
                column={"type": "integer", "minimum": 1}, text={"type": "string"},
            ),
        },
        truncated={"type": "boolean"},
    )  # fmt: skip

    def observe(self, request: Request) -> Precondition:
        starts = _starts(request)
        with Tree(request) as tree:
            for parts in starts:
                tree.is_directory(parts)  # raises for a link and for what is not there
        return {"paths": ["/".join(parts) or "." for parts in starts]}

    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        most = request.input.get("max_matches", 1000)
        query, regex = request.input["query"], request.input.get("regex", False)
        search = ripgrep.Search(query, regex=regex, most=most, deadline=DEADLINE)
        matches: list[dict[str, Any]] = []
        room = _JSON
        with Tree(request) as tree:
            files = _Files(tree, _starts(request))
            with closing(_matches(search, files)) as found:
                for match in found:
                    room -= len(json.dumps(match)) + 2
                    if len(matches) == most or room < 0:
                        return Outcome(result={"matches": matches, "truncated": True})
                    matches.append(match)
        return Outcome(result={"matches": matches, "truncated": files.cut})

    def describe(self, request: Request, seen: Precondition) -> Description:
        shown = ", ".join(visible.name(path)[0] for path in seen["paths"])
        query = visible.name(request.input["query"])[0]
        return Description(
            sentence=f"Search {shown} for {query}", target=shown, reversible=True, preview={"kind": "none"}
        )


def _starts(request: Request) -> list[Parts]:
    return [names.guard(names.directory(path)) for path in request.input.get("paths", ["."])]


class _Files:
    """The regular files to search, each path once; `cut` when some had to be left out."""

    def __init__(self, tree: Tree, starts: list[Parts]) -> None:
        self.tree, self.cut = tree, False
        self._starts = starts

    def __iter__(self) -> Iterator[Parts]:
        seen: set[Parts] = set()
        for parts in self._from_starts():
            if parts not in seen:
                seen.add(parts)
                yield parts

    def _from_starts(self) -> Iterator[Parts]:
        for start in self._starts:
            if not self.tree.is_directory(start):
                os.close(self.tree.file(start))  # a name that was asked for must be readable, or the caller is told
                yield start
                continue
            walked = walk.Walk(self.tree, start, walk.MAX_DEPTH)
            for entry in walked:
                if entry.type == "file" and entry.size > 0:
                    yield entry.parts
            self.cut = self.cut or walked.cut

    def open(self, parts: Parts) -> int | None:
        """A descriptor of a text file of bearable size; None for anything else."""
        with suppress(Denied, Missing):  # gone, changed or closed to us since it was listed
            descriptor = self.tree.file(parts)
            if os.fstat(descriptor).st_size > MAX_FILE:
                self.cut = True
            elif b"\0" not in os.pread(descriptor, 8192, 0):
                return descriptor
            os.close(descriptor)
        return None


def _matches(search: ripgrep.Search, files: _Files) -> Generator[dict[str, Any], None, None]:
    remaining = iter(files)
    while batch := list(islice(remaining, ripgrep.BATCH)):
        with ExitStack() as stack:
            opened: dict[int, Parts] = {}
            for parts in batch:
                if (descriptor := files.open(parts)) is not None:
                    stack.callback(os.close, descriptor)
                    opened[descriptor] = parts
            if opened:
                yield from (_shown(opened[at], match) for at, match in search.matches(list(opened)))


def _shown(parts: Parts, match: Any) -> dict[str, Any]:
    text = match["lines"].get("text")
    raw = text.encode() if text is not None else base64.b64decode(match["lines"]["bytes"])
    line = raw.decode("utf-8", "replace")
    found = match["submatches"][0]["start"] if match["submatches"] else 0
    column = len(raw[:found].decode("utf-8", "replace"))
    begin = max(0, column - MAX_TEXT // 2) if len(line) > MAX_TEXT else 0
    return {
        "path": walk.shown(parts),
        "line": match["line_number"],
        "column": column + 1,
        "text": line[begin : begin + MAX_TEXT].rstrip("\r\n"),
    }
