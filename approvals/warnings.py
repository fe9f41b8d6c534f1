"""All that a person is warned of before they answer, on every screen in the same words."""

import json
from typing import Any

from approvals import questions, selectors
from approvals.models import Approval
from forge_project.kernel import visible

_CHANGED = (
    "The world has changed since this was asked, or what its workspace lets pass: an approval of this will not be used."
)


def of(row: Approval, holds: bool | None) -> list[str]:
    """The warnings, ready to be shown; `holds` as `ports.still_holds` said, None where nobody looked."""
    told = [_CHANGED] if holds is False else []
    told += [visible.said(text) for text in json.loads(row.warnings)]
    told += deceptive(row)
    if row.supersedes:
        told.append(f"Asked again: this replaces {row.supersedes}, whose ground had changed.")
    for denied in selectors.denied_before(row):
        why = visible.said(denied.reason)
        told.append(f"The same request was denied before, by {_name(denied)}: {why}")
    return told


def deceptive(row: Approval) -> list[str]:
    """What in the shown texts hides, reorders, imitates or pads."""
    told = []
    texts = [("target", row.target), ("sentence", row.sentence), ("change", _text(json.loads(row.preview))),
             ("agent's own words", row.purpose)]  # fmt: skip
    texts += [(f"agent's answer to question {one.n}", one.answer) for one in questions.of(row)]
    for where, text in texts:
        hidden = visible.content(text)[1]
        alike = visible.name(text)[1] if where == "target" else visible.imitating(text)
        if hidden:
            told.append(f"The {where}: hidden characters, shown as code points: {', '.join(hidden)}")
        if only := [point for point in alike if point not in hidden]:
            told.append(f"The {where}: characters that look like others: {', '.join(only)}")
        if visible.padded(text):
            told.append(f"The {where}: long runs of blanks or empty lines; look for what stands after them")
    return told


def _text(shown: Any) -> str:
    """Every text of a preview."""
    match shown:
        case str():
            return shown
        case dict():
            return "\n".join(_text(part) for pair in shown.items() for part in pair)
        case list():
            return "\n".join(map(_text, shown))
        case _:
            return ""


def _name(denied: Approval) -> str:
    return denied.decided_by.username if denied.decided_by else "a person"
