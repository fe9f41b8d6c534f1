"""Redaction of text that comes in chunks."""

from forge_project.kernel.redaction.known import Known
from forge_project.kernel.redaction.spans import replaced

_HEAD = 4  # a form's first characters, by which its beginnings are found quickly


class Stream:
    """Gives out at once what can't be part of a known value; holds back what may be the beginning of one."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._held = ""

    def feed(self, chunk: str) -> str:
        """The masked text that is certain by now."""
        text = self._held + chunk
        spans = self._known.spans(text)
        cut = self._beginning(text)
        while spans and spans[-1].end > cut:  # a value that may go on, or overlap one that does: wait for all of it
            cut = min(cut, spans.pop().start)
        self._held = text[cut:]
        return replaced(text[:cut], spans)

    def finish(self) -> str:
        """The rest; the stream starts anew."""
        text, self._held = self._held, ""
        return self._known.mask(text)

    def _beginning(self, text: str) -> int:
        """The first place from which the text to its end is the beginning of a form."""
        first = len(text)
        for form in self._known.forms:
            first = min(first, _overlap(text, form.text, first))
        return first


def _overlap(text: str, form: str, first: int) -> int:
    """The smallest place before `first` from which `text` ends with a beginning of `form`; else `first`."""
    at = max(0, len(text) - len(form) + 1)
    while 0 <= (at := text.find(form[:_HEAD], at, first + _HEAD)) < first:
        if form.startswith(text[at:]):
            return at
        at += 1
    for at in range(max(0, len(text) - _HEAD + 1), first):
        if form.startswith(text[at:]):
            return at
    return first
