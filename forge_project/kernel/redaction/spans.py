"""Places in a text, and what is put there."""

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """text[start:end] is the secret itself, without name or scheme; `label` is its name where it is a known value."""

    start: int
    end: int
    label: str | None = None


def joined(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans as one, in order; a known name wins, and of two the longer value's."""
    result: list[Span] = []
    weight = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        size = (span.end - span.start) if span.label else 0
        if result and span.start < result[-1].end:
            last = result[-1]
            label = span.label if size > weight else last.label
            result[-1] = Span(last.start, max(last.end, span.end), label)
            weight = max(weight, size)
        else:
            result.append(span)
            weight = size
    return result


def replaced(text: str, spans: list[Span]) -> str:
    """`text` with each span's label in its place; the spans are ordered, apart and labelled."""
    if not spans:
        return text
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], span.label or ""]
        at = span.end
    return "".join([*parts, text[at:]])
