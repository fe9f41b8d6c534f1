"""file.read and file.list."""

import hashlib
import json
import os
from abc import abstractmethod
from typing import Any, ClassVar

from executions.capabilities import encoding, visible
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
from executions.capabilities.workspace import names, walk
from executions.capabilities.workspace.tree import Tree
from forge_project.kernel.errors import TooLarge

PATH: dict[str, Any] = {"type": "string", "format": "workspace-path"}
DIRECTORY: dict[str, Any] = {"type": "string", "format": "workspace-directory"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
SHA256: dict[str, Any] = {"type": "string", "pattern": "^[0-9a-f]{64}\\Z"}
MAX_READ = 1024 * 1024  # bytes of one answer
MAX_FILE = 256 * 1024 * 1024  # bytes of a file whose digest is made while it is read
_CONTROL_SAFE = 640 * 1024  # bytes that stay under 4 MiB of JSON even if each becomes \u00XX
_JSON = 4 * 1024 * 1024 - 16 * 1024


class _Reading(Capability, abstract=True):
    """What the two share: nothing changes, so nothing is asked of a person but where."""

    effect = Effect.READ
    risk = Risk.LOW
    recovery_mode = Recovery.REPLAY_SAFE
    verb: ClassVar[str]

    def observe(self, request: Request) -> Precondition:
        with Tree(request) as tree:
            os.close(self.open(tree, request))  # whoever is asked to approve it sees a path that can be read
        return {"path": request.input.get("path", ".")}

    @abstractmethod
    def open(self, tree: Tree, request: Request) -> int:
        """A descriptor of what is read."""

    def describe(self, request: Request, seen: Precondition) -> Description:
        shown, odd = visible.name(seen["path"])
        return Description(
            sentence=f"{self.verb} {shown}",
            target=shown,
            reversible=True,
            preview={"kind": "none"},
            warnings=(f"The name holds deceptive characters: {', '.join(odd)}",) if odd else (),
        )


class FileRead(_Reading):
    """`sha256` is the whole file's, `bytes` those of this answer: the next one starts at offset + bytes."""

    name, summary, verb = "file.read", "Read a file of the workspace", "Read"
    input_schema = closed_object(
        ["path"],
        path=PATH,
        encoding=encoding.ENCODING,
        offset=COUNT,
        limit={"type": "integer", "minimum": 4, "maximum": MAX_READ},  # 4: a character is never cut
    )
    result_schema = closed_object(
        path={"type": "string"}, content={"type": "string"}, encoding=encoding.ENCODING, bytes=COUNT,
        sha256=SHA256, eof={"type": "boolean"},
    )  # fmt: skip

    def open(self, tree: Tree, request: Request) -> int:
        return tree.file(names.granted(request.input["path"]))

    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        wanted = request.input.get("encoding", "utf-8")
        offset, limit = request.input.get("offset", 0), request.input.get("limit", MAX_READ)
        with Tree(request) as tree:
            descriptor = self.open(tree, request)
        chunk, size, digest = _read(descriptor, offset, limit)
        if wanted == "utf-8":
            chunk = _whole_characters(chunk, last=offset + len(chunk) >= size)
        content = encoding.encode(chunk, wanted)
        if len(json.dumps(content)) > _JSON:
            chunk = _whole_characters(chunk[:_CONTROL_SAFE], last=False)
            content = encoding.encode(chunk, wanted)
        return Outcome(
            result={
                "path": request.input["path"], "content": content, "encoding": wanted, "bytes": len(chunk),
                "sha256": digest, "eof": offset + len(chunk) >= size,
            }
        )  # fmt: skip


def _read(descriptor: int, offset: int, limit: int) -> tuple[bytes, int, str]:
    """The bytes at `offset`, the file's size and digest, all from one pass over one descriptor."""
    digest, at, kept = hashlib.sha256(), 0, bytearray()
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        while block := stream.read(MAX_READ):
            digest.update(block)
            kept += block[max(0, offset - at) : max(0, offset + limit - at)]
            at += len(block)
            if at > MAX_FILE:
                raise TooLarge("the file is too large to read", limit=MAX_FILE)
    return bytes(kept), at, digest.hexdigest()


def _whole_characters(chunk: bytes, *, last: bool) -> bytes:
    """Without a UTF-8 character cut at the end; at the end of the file a cut one is a fault, and stays."""
    if last:
        return chunk
    for back in range(1, min(4, len(chunk) + 1)):
        lead = chunk[-back]
        if lead >= 0xC0:
            need = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return chunk if back == need else chunk[:-back]
        if lead < 0x80:
            break
    return chunk


class FileList(_Reading):
    """Entries below a directory in path order; protected names are left out, links are listed and never followed."""

    name, summary, verb = "file.list", "List files of the workspace", "List"
    input_schema = closed_object(
        [],
        path=DIRECTORY,
        glob={"type": "string", "minLength": 1, "maxLength": 256},  # *, ? and **; relative to `path`
        depth={"type": "integer", "minimum": 1, "maximum": walk.MAX_DEPTH},
        limit={"type": "integer", "minimum": 1, "maximum": 10_000},
    )
    result_schema = closed_object(
        entries={
            "type": "array",
            "items": closed_object(
                path={"type": "string"}, type={"enum": ["file", "directory", "symlink", "other"]}, bytes=COUNT
            ),
        },
        truncated={"type": "boolean"},
    )

    def open(self, tree: Tree, request: Request) -> int:
        return tree.directory(_start(request))

    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        glob = request.input.get("glob")
        depth = request.input.get("depth", walk.MAX_DEPTH if glob else 1)
        start = _start(request)
        entries: list[dict[str, Any]] = []
        room = _JSON
        with Tree(request) as tree:
            walked = walk.Walk(tree, start, depth)
            for entry in walked:
                if glob and not walk.matches(glob, entry.parts[len(start) :]):
                    continue
                shown = {"path": entry.path, "type": entry.type, "bytes": entry.size}
                room -= len(json.dumps(shown)) + 2
                if len(entries) == request.input.get("limit", 1000) or room < 0:
                    return Outcome(result={"entries": entries, "truncated": True})
                entries.append(shown)
        return Outcome(result={"entries": entries, "truncated": walked.cut})


def _start(request: Request) -> names.Parts:
    return names.guard(names.directory(request.input.get("path", ".")))
