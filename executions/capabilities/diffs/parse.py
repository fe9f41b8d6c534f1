"""A strict reader of unified diffs, git's headers included: what it does not know it refuses."""

import re
from dataclasses import dataclass, field

from executions.capabilities.diffs import header
from executions.capabilities.diffs.model import MAX_DIFF, MAX_FILES, FilePatch, Hunk, Patch, refuse
from forge_project.kernel.errors import TooLarge

_RANGE = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?\r?")
_INDEX = re.compile(r"[0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: (\d{6}))?")


@dataclass(slots=True)
class _Lines:
    """The diff's lines, each with its LF, and where the reader stands."""

    lines: list[bytes]
    at: int = 0

    @property
    def number(self) -> int:
        return self.at + 1

    @property
    def now(self) -> bytes:
        return self.lines[self.at] if self.at < len(self.lines) else b""

    def take(self) -> bytes:
        line = self.now
        self.at += 1
        return line

    def text(self) -> str:
        """The next line, taken, as header text."""
        try:
            return self.take().rstrip(b"\n").decode()
        except UnicodeDecodeError:
            raise refuse(f"a header is not UTF-8 (line {self.at})", "encoding", line=self.at) from None


@dataclass(slots=True)
class _Head:
    """What the header lines of one file said."""

    path: str = ""
    flags: dict[str, bool] = field(default_factory=dict)  # old, new, added, removed: its mode is executable


def parse(diff: bytes) -> Patch:
    """Raises PatchRefused (rule patch.*), Invalid or Denied (rule path.*), TooLarge over 1 MiB."""
    if len(diff) > MAX_DIFF:
        raise TooLarge("the diff is too large", limit=MAX_DIFF)
    # A last line without LF is what string joins leave; only `\ No newline` speaks about the file.
    lines = _Lines([line + b"\n" for line in diff.removesuffix(b"\n").split(b"\n")])
    end = diff.rstrip(b"\n").count(b"\n") + 1 if diff.strip(b"\n") else 0  # empty lines after it mean nothing
    files: list[FilePatch] = []
    while lines.at < end:
        files.append(_file(lines))
        if len(files) > MAX_FILES:
            raise refuse(f"a patch touches at most {MAX_FILES} files", "files")
    if not files:
        raise refuse("the diff is empty", "empty")
    _distinct([file.path for file in files])
    return Patch(tuple(files))


def _distinct(paths: list[str]) -> None:
    """Each file once, and no file where another needs a directory: the order of the renames must not matter."""
    for path in paths:
        if paths.count(path) > 1:
            raise refuse("a file appears twice in the patch", "duplicate", target=path)
        if any(other.startswith(path + "/") for other in paths):
            raise refuse("a path is both a file and a directory in the patch", "conflict", target=path)


def _file(lines: _Lines) -> FilePatch:
    head = _Head()
    start = lines.number
    if lines.now.startswith(b"diff --git "):
        head.path = header.both(lines.text().removeprefix("diff --git "), start)
        _extended(lines, head)
    sides = _sides(lines, head.path) if lines.now.startswith(b"--- ") else None
    if sides is None and (not head.path or not head.flags):
        raise refuse(f"expected a file's header (line {lines.number})", "syntax", line=lines.number)
    old, new = sides or (None if "added" in head.flags else head.path, None if "removed" in head.flags else head.path)
    path = new if new is not None else old
    if path is None or (old is not None and new is not None and old != new):
        raise refuse(
            f"one file under two names is a rename: remove and add instead (line {start})", "rename", line=start
        )
    if ("added" in head.flags) != (old is None) and head.path:
        raise refuse("the headers disagree on whether the file is new", "syntax", target=path, line=start)
    if ("removed" in head.flags) != (new is None) and head.path:
        raise refuse("the headers disagree on whether the file is removed", "syntax", target=path, line=start)
    hunks = _hunks(lines) if sides else ()
    return _checked(path, head, hunks, adds=old is None, removes=new is None)


def _checked(path: str, head: _Head, hunks: tuple[Hunk, ...], *, adds: bool, removes: bool) -> FilePatch:
    if adds and (len(hunks) > 1 or any(hunk.old or hunk.start for hunk in hunks)):
        raise refuse("a new file has one hunk of added lines", "syntax", target=path)
    if not adds and any(not hunk.old and hunk.start for hunk in hunks):  # start 0: an empty file is filled
        raise refuse("a hunk without context has no place", "context", target=path)
    if removes and any(hunk.new for hunk in hunks):
        raise refuse("a removal removes every line", "remove", target=path)
    executable = head.flags.get("added") if adds else head.flags.get("new")
    return FilePatch(
        path=path, adds=adds, removes=removes, hunks=hunks, executable=executable,
        was_executable=head.flags.get("removed", head.flags.get("old")),
    )  # fmt: skip


_MODE_LINES = {"old mode ": "old", "new mode ": "new", "new file mode ": "added", "deleted file mode ": "removed"}


def _extended(lines: _Lines, head: _Head) -> None:
    while lines.now and not lines.now.startswith((b"diff --git ", b"--- ", b"@@ ")):
        number = lines.number
        line = lines.text()
        known = next((start for start in _MODE_LINES if line.startswith(start)), None)
        index = _INDEX.fullmatch(line.removeprefix("index ")) if line.startswith("index ") else None
        if known and _MODE_LINES[known] not in head.flags:
            head.flags[_MODE_LINES[known]] = header.mode(line.removeprefix(known), number)
        elif index:
            header.mode(index.group(1) or "100644", number)  # only here a link's retargeting shows
        elif line.startswith(("rename ", "copy ", "similarity ", "dissimilarity ")):
            raise refuse(
                f"renames and copies are written as removal and addition (line {number})", "rename", line=number
            )
        elif line.startswith(("GIT binary patch", "Binary files ")):
            raise refuse(f"binary files are not patched (line {number})", "binary", line=number)
        else:
            raise refuse(f"unknown header (line {number})", "syntax", line=number)
    if (
        ("old" in head.flags) != ("new" in head.flags)
        or len(head.flags) > 2
        or {"added", "removed"} <= head.flags.keys()
    ):
        raise refuse(f"the mode headers contradict each other (line {lines.number})", "mode", line=lines.number)


def _sides(lines: _Lines, named: str) -> tuple[str | None, str | None]:
    number = lines.number
    old = header.side(lines.text().removeprefix("--- "), "a/", number)
    if not lines.now.startswith(b"+++ "):
        raise refuse(f"expected +++ after --- (line {lines.number})", "syntax", line=lines.number)
    new = header.side(lines.text().removeprefix("+++ "), "b/", number + 1)
    if named and {old, new} - {None, named}:
        raise refuse(f"the headers name different files (line {number})", "syntax", line=number)
    if not lines.now.startswith(b"@@ "):
        raise refuse(f"expected a hunk (line {lines.number})", "syntax", line=lines.number)
    return old, new


def _hunks(lines: _Lines) -> tuple[Hunk, ...]:
    hunks = []
    while lines.now.startswith(b"@@ "):
        hunks.append(_hunk(lines))
    return tuple(hunks)


def _hunk(lines: _Lines) -> Hunk:
    number = lines.number
    match = _RANGE.fullmatch(lines.take()[:-1])
    if match is None:
        raise refuse(f"a hunk starts with @@ -l,n +l,n @@ (line {number})", "syntax", line=number)
    start, *counts = (1 if group is None else int(group) for group in match.groups())
    wants, gets = counts[0], counts[2]
    old: list[bytes] = []
    new: list[bytes] = []
    trailing = changed = 0
    while len(old) < wants or len(new) < gets:
        kind, text = _body(lines, number)
        if kind in b" -":
            old.append(text)
        if kind in b" +":
            new.append(text)
        trailing, changed = (trailing + 1, changed) if kind == b" " else (0, 1)
    ends = (
        lines.now.startswith(b"\\ ") or (old and not old[-1].endswith(b"\n")) or (new and not new[-1].endswith(b"\n"))
    )
    if lines.now.startswith(b"\\ "):
        raise refuse(f"`\\ No newline` twice (line {lines.number})", "syntax", line=lines.number)
    if len(old) != wants or len(new) != gets or any(not t.endswith(b"\n") for t in (*old[:-1], *new[:-1])):
        raise refuse(f"the hunk's lines do not add up (line {number})", "syntax", line=number)
    if not changed:
        raise refuse(f"the hunk changes nothing (line {number})", "empty", line=number)
    return Hunk(start, tuple(old), tuple(new), 0 if ends else trailing)


def _body(lines: _Lines, hunk: int) -> tuple[bytes, bytes]:
    line = lines.take()
    kind, text = (b" ", line) if line in {b"\n", b"\r\n"} else (line[:1], line[1:])  # tools strip an empty context line
    if not line or kind not in {b" ", b"-", b"+"}:
        raise refuse(f"the hunk of line {hunk} ends early (line {lines.at})", "syntax", line=lines.at)
    if lines.now.startswith(b"\\ "):
        lines.take()
        text = text[:-1]
    return kind, text
