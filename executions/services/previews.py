"""What an approver sees of a change: nothing that is applied may hide behind a mask meant for secrets.

A mask stands only for what looks like a literal secret (one word of the characters keys are made of), line by line, so
that no line vanishes; how many places are masked is said, and is part of what is approved.
"""

import re
from typing import Any

from executions.services import sealed
from forge_project.kernel.redaction import Redactor

_MASK = re.compile(r"\[SECRET:[^\]\n]*\]")
_LITERAL = re.compile(r"[A-Za-z0-9+/=_.~:-]{4,}")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{40,80}")
_HIDDEN_KEY_LINE = "[SECRET:key]"


def shown_preview(ref: str, preview: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The preview with secrets masked, and the warning that says where."""
    text = preview.get("text")
    if not isinstance(text, str):
        return dict(sealed.shown(ref, preview)), ()
    redactor = sealed.redactor(ref)
    hidden, in_key, lines = 0, False, []
    for line in text.split("\n"):
        sign, body = line[:1], line[1:]
        if in_key and _KEY_BODY.fullmatch(body.strip()):
            shown, hides = _HIDDEN_KEY_LINE, 1
        else:
            in_key = bool(_KEY_BEGINS.search(body))
            shown, hides = _line(redactor, body)
        hidden += hides
        lines.append(sign + shown)
    warning = (
        f"{hidden} {'place is' if hidden == 1 else 'places are'} hidden as secrets: what stands there is not shown"
    )
    return preview | {"text": "\n".join(lines)}, (warning,) if hidden else ()


def _line(redactor: Redactor, line: str) -> tuple[str, int]:
    """The line masked, and how many masks; the line itself where a mask would hide more than a literal."""
    masked = redactor.text(line)
    if masked == line:
        return line, 0
    kept = _MASK.split(masked)
    pattern = "(.*?)".join(re.escape(part) for part in kept)
    found = re.fullmatch(pattern, line, re.DOTALL)
    if found is None or not all(_LITERAL.fullmatch(gap) for gap in found.groups()):
        return line, 0
    return masked, len(found.groups())
