"""A preview as lines to be coloured; nothing of it is left out."""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from approvals.admin import words

Kind = Literal["file", "hunk", "add", "del", "same", "note"]
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_SAID: dict[str, Kind] = {"+": "add", "-": "del", " ": "same", "\\": "note"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a preview, its sign included."""

    kind: Kind
    text: str


def lines(preview: str) -> list[Line]:
    """The lines of a stored preview: a diff by its signs, any other text, or JSON, as it stands."""
    shown: Any = json.loads(preview)
    match shown:
        case {"kind": "diff", "text": str(text)}:
            return _diff(_split(text))
        case {"kind": "text", "text": str(text)}:
            return [Line("same", line) for line in _split(text)]
        case {"kind": "none"}:
            return [Line("note", "No content changes hands; the sentence and the request below are all of it.")]
        case _:
            return indented(shown)


def indented(value: Any) -> list[Line]:
    """JSON, whole, or nothing for None."""
    if value is None:
        return []
    return [Line("same", line) for line in _split(json.dumps(value, indent=2, ensure_ascii=False))]


def files(shown: list[Line]) -> list[dict[str, Any]]:
    """Each file of a diff in its order: name, lines added and removed."""
    found: list[dict[str, Any]] = []
    for before, line in pairwise(shown):
        if line.kind == "file" and before.kind == "file" and line.text.startswith("+++ "):
            name = before.text[4:] if line.text == "+++ /dev/null" else line.text[4:]
            found.append({"name": name.partition("/")[2], "add": 0, "del": 0})
        elif found and line.kind in ("add", "del"):
            found[-1][line.kind] += 1
    return found


def _split(text: str) -> list[str]:
    """By LF alone; a CR that changes is seen."""
    return words.safe(text).removesuffix("\n").replace("\r", "\\u{000D}").split("\n")


def _diff(texts: list[str]) -> list[Line]:
    """Counts each hunk's lines: a removed line that begins with `--` is no file's name."""
    found: list[Line] = []
    old = new = 0
    for text in texts:
        if hunk := _HUNK.match(text):
            old, new = (int(count) if count is not None else 1 for count in hunk.groups())
            found.append(Line("hunk", text))
            continue
        kind = _SAID.get(text[:1], "same") if old > 0 or new > 0 or text[:1] == "\\" else "file"
        old -= kind in ("del", "same")
        new -= kind in ("add", "same")
        found.append(Line(kind, text))
    return found
