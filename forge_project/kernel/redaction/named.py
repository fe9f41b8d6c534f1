"""Values whose name promises a secret: `name: value`, `name=value`, `"name": "value"`, `--name value`.

Linear: what follows a start is possessive or bounded, and the scan goes on behind what it found.
"""

import re
from collections.abc import Iterator

from forge_project.kernel.redaction.names import SHORTEST, STEM, sensitive
from forge_project.kernel.redaction.shapes import ESCAPE
from forge_project.kernel.redaction.spans import Span

_OPEN = r"[bBrRuUfF]{0,2}\\{0,3}[\"']"
_NAME = re.compile(
    rf"(?<!://)(?:(?<![\w-])(?!(?<=\\)[nrt])|{ESCAPE})(?:(?P<name>[\w-]{{{SHORTEST},}}+)"
    rf"(?:\\{{0,3}}[\"'])?[ \t]{{0,3}}(?:={{1,3}}>?|:=?)[ \t]{{0,3}}(?P<open>{_OPEN})?"
    rf"|(?P<flag>--?[A-Za-z][\w-]*+)[ \t]{{1,8}}(?=[^\s-])(?P<opens>{_OPEN})?)"
)
_SCHEME = re.compile(r"(?i:bearer|basic|digest|token|negotiate|apikey)[ \t]+(?=[^\s\"'])")
_HEADER = re.compile(r"[^\r\n\"']++")
_BARE = re.compile(r"(?:[^\s\"'&]|&(?![\w.%-]{1,64}=))++")
_QUOTED = {
    '"': re.compile(r'[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+'),
    "'": re.compile(r"[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*+"),
}
_ESCAPED = re.compile(r"[^\"'\\\r\n]++")  # a quote with backslashes before it: the value ends at the next of either
_TRAILING = ",;.)]}>"
_NOTHING = frozenset({"null", "none", "true", "false", "undefined"})
_WORD = re.compile(r"\w")


def named(text: str, masks: re.Pattern[str]) -> Iterator[Span]:
    """The values of `name: value`, `name=value`, `"name": "value"` and `--name value` whose name promises a secret."""
    if not STEM.search(text):
        return
    at = 0
    while match := _NAME.search(text, at):
        at = match.end()
        if not sensitive(match["name"] or match["flag"]):
            continue
        if text.startswith("[SECRET:", match.start() - 1) and (inside := masks.match(text, match.start() - 1)):
            at = inside.end()
            continue
        span = _value(text, match, masks)
        at = max(at, span.end)
        if span.end > span.start and not masks.fullmatch(text, span.start, span.end):
            yield span


def _value(text: str, match: re.Match[str], masks: re.Pattern[str]) -> Span:
    """Where the value behind a name and its separator starts and ends; empty where there is none to hide."""
    start = match.end()
    if scheme := _SCHEME.match(text, start):
        start = scheme.end()
    found = _pattern(match).match(text, start)
    if not found:
        return Span(start, start)
    value = found[0].rstrip()
    kept = max((mask.end() for mask in masks.finditer(value)), default=0) if "[SECRET:" in value else 0
    value = value[:kept] + value[kept:].rstrip(_TRAILING)
    hides = _WORD.search(value) and value.lower() not in _NOTHING
    return Span(start, start + len(value) if hides else start)


def _pattern(match: re.Match[str]) -> re.Pattern[str]:
    """How far a value goes: to its closing quote, to the line's end in a header, else to a space."""
    if quote := match["open"] or match["opens"]:
        return _ESCAPED if "\\" in quote else _QUOTED[quote[-1]]
    if match["name"] and ":" in match[0] and match["name"].lower().endswith(("authorization", "cookie")):
        return _HEADER
    return _BARE
