"""Finds the secret store's own values in text, in all their forms, and puts their names there."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from operator import itemgetter
from typing import NamedTuple

from forge_project.kernel.redaction.forms import SHORTEST, forms
from forge_project.kernel.redaction.spans import Span, joined, replaced


class _Form(NamedTuple):
    text: str
    label: str
    step: int  # how far the next occurrence is at least


class Known:
    """The values of a secret store, ready to be found. Its text shows none of them."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        found: dict[str, str] = {}
        for name, value in secrets.items():
            for text in forms(value) if len(value) >= SHORTEST else ():
                found.setdefault(text, f"[SECRET:{name}]")
        shown = sorted(found.items(), key=lambda item: (len(item[0]), item[0]))
        self.forms = [_Form(text, label, _period(text)) for text, label in shown]
        self._lengths = [len(form.text) for form in self.forms]
        self.numeric = any(re.fullmatch(r"[-+.eE\d]+", form.text) for form in self.forms)
        names = "|".join(re.escape(name) for name in sorted(secrets, key=len, reverse=True))
        self.placeholder = re.compile(rf"\[SECRET:(?:[0-9a-f]{{8}}{'|' if names else ''}{names})\]")

    def spans(self, text: str) -> list[Span]:
        """Where known values stand, overlapping ones joined under the longest one's name."""
        found: list[Span] = []
        for form in reversed(self.forms[: bisect_right(self._lengths, len(text))]):  # longest first
            at = text.find(form.text)
            while at >= 0:
                found.append(Span(at, at + len(form.text), form.label))
                at = text.find(form.text, at + form.step)
        if not found:
            return found
        own = self.placeholders(text)
        return joined(span for span in found if not _within(span, own))

    def mask(self, text: str) -> str:
        """`text` with every known value replaced by its name."""
        return replaced(text, self.spans(text))

    def placeholders(self, text: str) -> list[tuple[int, int]]:
        """Where masks already stand: nothing inside one is masked again."""
        return [match.span() for match in self.placeholder.finditer(text)] if "[SECRET:" in text else []


def _within(span: Span, places: list[tuple[int, int]]) -> bool:
    at = bisect_right(places, span.start, key=itemgetter(0)) - 1
    return at >= 0 and places[at][0] <= span.start and span.end <= places[at][1]


def _period(text: str) -> int:
    """The smallest shift at which `text` can overlap itself (its length, if it can't): Knuth-Morris-Pratt's table."""
    table, length = [0] * len(text), 0
    for at in range(1, len(text)):
        while length and text[at] != text[length]:
            length = table[length - 1]
        length += text[at] == text[length]
        table[at] = length
    return len(text) - table[-1]
