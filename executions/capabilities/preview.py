"""What a change looks like to the person who must judge it: a whole diff, made here and never by the agent."""

import base64
import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from executions.capabilities import visible

Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
MAX_CELLS = 100_000  # old lines x new lines that difflib may compare in one preview; over it: "all out, all in"
_EXECUTED = re.compile(
    r"(^|/)(\.github/(workflows|actions)/.+|\.circleci/.+|\.husky/.+|\.gitlab-ci\.yml|azure-pipelines\.yml|Jenkinsfile|"
    r"(GNU)?[Mm]akefile|.+\.mk|CMakeLists\.txt|Dockerfile.*|docker-compose.*\.ya?ml|package\.json|setup\.(py|cfg)|"
    r"pyproject\.toml|conftest\.py|sitecustomize\.py|.+\.pth|tox\.ini|noxfile\.py|pytest\.ini|\.pre-commit-config\.yaml|"
    r"build\.rs|Cargo\.toml|build\.gradle(\.kts)?|pom\.xml|Gemfile|Rakefile|.+\.(sh|bash|ps1|bat|cmd)|\.npmrc|\.envrc)$"
)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; None is absence."""

    path: str
    before: bytes | None
    after: bytes | None
    note: str = ""  # what bytes do not show, e.g. "becomes executable"


def executed(path: str) -> bool:
    """Whether builds, CI or test runners run this file by its name."""
    return _EXECUTED.search(path) is not None


def changes(files: Iterable[FileChange]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The preview {"kind": "diff", "text"} and its warnings; files that builds run come first, nothing is cut off."""
    ordered = sorted(files, key=lambda file: (not executed(file.path), file.path))
    warnings: list[str] = []
    texts = []
    budget = _Budget()
    for file in ordered:
        text, points = visible.content(_diff(file, budget))
        texts.append(text)
        shown, odd = visible.name(file.path)
        if odd:
            warnings.append(f"The name {shown} holds deceptive characters: {', '.join(odd)}")
        if points:
            warnings.append(f"{shown}: hidden characters, shown as code points: {', '.join(points)}")
        if executed(file.path):
            warnings.append(f"{shown} is run by builds, CI or tests")
        if file.note:
            warnings.append(f"{shown} {file.note}")
        warnings += [f"{shown} is not text"] if not _is_text(file) else []
    return {"kind": "diff", "text": "".join(texts)}, tuple(warnings)


def _is_text(file: FileChange) -> bool:
    return _text(file.before) is not None and _text(file.after) is not None


def _text(content: bytes | None) -> str | None:
    try:
        text = (content or b"").decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _diff(file: FileChange, budget: "_Budget") -> str:
    shown = visible.name(file.path)[0]
    names = ("/dev/null" if file.before is None else f"a/{shown}", "/dev/null" if file.after is None else f"b/{shown}")
    old, new = _text(file.before), _text(file.after)
    if old is None or new is None:  # bytes have no lines worth reading, but they are all here
        old, new = _base64(file.before), _base64(file.after)
    body = "".join(_unified(_lines(old), _lines(new), budget))
    return f"--- {names[0]}\n+++ {names[1]}\n{body}"


def _base64(content: bytes | None) -> str:
    return base64.encodebytes(content or b"").decode()


def _lines(text: str) -> list[str]:
    """Lines by LF alone; one without it says so, as in every diff."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, f"{last}\n\\ No newline at end of file\n"] if last else lines


class _Budget:
    """What one preview may still compare: the files are an agent's, and a person waits for the page."""

    def __init__(self) -> None:
        self._left = MAX_CELLS

    def take(self, cells: int) -> bool:
        """Whether there is room for so many."""
        if cells > self._left:
            return False
        self._left -= cells
        return True


def _unified(old: list[str], new: list[str], budget: _Budget) -> Iterator[str]:
    for group in _Shifted(old, new, budget).get_grouped_opcodes(3):
        (_, a, _, c, _), (_, _, b, _, d) = group[0], group[-1]
        yield f"@@ -{_range(a, b)} +{_range(c, d)} @@\n"
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (" " + line for line in old[i:j])
            else:
                yield from ("-" + line for line in old[i:j])
                yield from ("+" + line for line in new[k:m])


class _Shifted(difflib.SequenceMatcher[str]):
    """difflib on what is left between the common start and end; where too much is left, one replacement: difflib's
    time is cubic at worst, and the files are an agent's."""

    def __init__(self, old: list[str], new: list[str], budget: _Budget) -> None:
        short = min(len(old), len(new))
        start = next((n for n in range(short) if old[n] != new[n]), short)
        end = next((n for n in range(short - start) if old[-1 - n] != new[-1 - n]), short - start)
        super().__init__(None, old[start : len(old) - end], new[start : len(new) - end])
        self._start, self._end, self._sizes = start, end, (len(old), len(new))
        self._fits = budget.take((len(old) - start - end) * (len(new) - start - end))

    def get_opcodes(self) -> list[Opcode]:
        start, (olds, news) = self._start, self._sizes
        j, m = olds - self._end, news - self._end
        middle: list[Opcode] = [("replace", 0, j - start, 0, m - start)]
        if self._fits:
            middle = super().get_opcodes()
        shifted: list[Opcode] = [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in middle]
        codes: list[Opcode] = [("equal", 0, start, 0, start), *shifted, ("equal", j, olds, m, news)]
        return [code for code in codes if code[1] < code[2] or code[3] < code[4]]


def _range(start: int, stop: int) -> str:
    """As in unified diffs: from 1, and an empty range names the line before it."""
    length = stop - start
    return f"{start + 1 if length else start},{length}"
