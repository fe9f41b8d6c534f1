"""Applying a patch to bytes: every hunk at its place or nowhere, nothing guessed."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import accumulate

from executions.capabilities.diffs.model import FilePatch, Hunk, Patch, refuse
from forge_project.kernel.errors import ForgeError

MAX_DRIFT = 10  # lines between a hunk's header and its place


@dataclass(frozen=True, slots=True)
class _Old:
    """A file's lines, where each starts, and how many earlier hunks have used up."""

    content: bytes
    lines: list[bytes]
    offsets: list[int]
    done: int

    def matches(self, hunk: Hunk, at: int) -> bool:
        return at >= self.done and tuple(self.lines[at : at + len(hunk.old)]) == hunk.old

    def search(self, hunk: Hunk) -> list[int]:
        """The first two fits, found by bytes.find: linear, so no crafted file can make it slow."""
        needle, text = b"\n" + b"".join(hunk.old), b"\n" + self.content  # the LF holds a fit to the start of a line
        fits: list[int] = []
        where = self.offsets[self.done]
        while len(fits) < 2 and (where := text.find(needle, where)) >= 0:
            fits.append(bisect_left(self.offsets, where))
            where += 1
        return fits


def apply(files: Mapping[str, bytes], patch: Patch) -> dict[str, bytes | None]:
    """The new content of each touched file, None for a removed one; raises PatchRefused naming every failing file."""
    results: dict[str, bytes | None] = {}
    faults: dict[str, ForgeError] = {}
    for file in patch.files:
        try:
            results[file.path] = _file(files.get(file.path), file)
        except ForgeError as fault:
            faults[file.path] = fault
    if faults:
        first = next(iter(faults.values()))
        failed = [{"target": path, "rule": fault.facts["rule"]} for path, fault in faults.items()]
        rule = first.facts["rule"].removeprefix("patch.")
        raise refuse(first.message, rule, target=next(iter(faults)), failed=failed, fitting=sorted(results))
    return results


def _file(content: bytes | None, file: FilePatch) -> bytes | None:
    if file.adds:
        if content is not None:
            raise refuse("the patch adds a file that exists", "exists", target=file.path)
        return b"".join(line for hunk in file.hunks for line in hunk.new)
    if content is None:
        raise refuse("the patch changes a file that does not exist", "missing", target=file.path)
    result = _hunks(content, file)
    if file.removes:
        if result:
            raise refuse("the removal leaves content behind", "remove", target=file.path)
        return None
    if result == content and file.executable in {None, file.was_executable}:
        raise refuse("the patch leaves a file as it is", "empty", target=file.path)
    return result


def _hunks(content: bytes, file: FilePatch) -> bytes:
    hunks = _as_written(content, file.hunks)
    lines = BytesIO(content).readlines()
    offsets = [0, *accumulate(map(len, lines))]
    pieces: list[bytes] = []
    done = 0  # lines of the old file already written
    for hunk in hunks:
        at = _place(_Old(content, lines, offsets, done), hunk, file.path)
        pieces += [content[offsets[done] : offsets[at]], *hunk.new]
        done = at + len(hunk.old)
    return b"".join([*pieces, content[offsets[done] :]])


def _as_written(content: bytes, hunks: tuple[Hunk, ...]) -> tuple[Hunk, ...]:
    """A patch typed with LF for a file that is CRLF throughout means CRLF; else bytes are compared as they are."""
    crlf = 0 < content.count(b"\n") == content.count(b"\r\n")
    if not crlf or any(b"\r" in line for hunk in hunks for line in (*hunk.old, *hunk.new)):
        return hunks
    return tuple(replace(hunk, old=_crlf(hunk.old), new=_crlf(hunk.new)) for hunk in hunks)


def _crlf(lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(line[:-1] + b"\r\n" if line.endswith(b"\n") else line for line in lines)


def _place(old: _Old, hunk: Hunk, path: str) -> int:
    """The line (from 0) a hunk takes. As git: one that starts at line 1, or has no context after it, is bound to that
    end of the file. Stricter than git: off its header's line it must be the only fit, at most MAX_DRIFT away."""
    stated, end = max(hunk.start - 1, 0), len(old.lines) - len(hunk.old)
    if hunk.trailing:
        fits = [stated] if old.matches(hunk, stated) else old.search(hunk)
    else:
        fits = [end] if old.matches(hunk, end) else []
    if hunk.start <= 1:
        fits = [at for at in fits if at == 0]
    if not fits:
        raise refuse("a hunk's context is not in the file", "context", target=path, hunk=hunk.start)
    if len(fits) > 1:
        raise refuse("a hunk fits in more than one place", "ambiguous", target=path, hunk=hunk.start)
    if (drift := abs(fits[0] - stated)) > MAX_DRIFT:
        raise refuse(f"a hunk fits only {drift} lines from where it says", "drift", target=path, hunk=hunk.start)
    return fits[0]
