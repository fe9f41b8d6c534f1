"""The redactor of one execution."""

import hmac
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from forge_project.kernel.redaction.known import Known
from forge_project.kernel.redaction.named import named
from forge_project.kernel.redaction.shapes import shaped
from forge_project.kernel.redaction.spans import Span, joined, replaced
from forge_project.kernel.redaction.stream import Stream
from forge_project.kernel.redaction.walk import Masks, rewrite

_NONE: Mapping[str, str] = MappingProxyType({})
_SHORTEST_FOUND = 6  # no rule finds a secret in less: `://:a@`
_BRACKETS = {"{": "}", "[": "]"}


class Redactor:
    """Masks by the secret store's values, by names and by shapes; `key` makes the masks of one execution comparable."""

    def __init__(self, key: bytes, secrets: Mapping[str, str] = _NONE) -> None:
        """`secrets`: name to value; values under 4 characters are ignored (the store refuses them under 16)."""
        self._key = key
        self._known = Known(secrets)
        mark = self._known.placeholder
        self._all = Masks(mark=mark, text=self.text, leaf=self._leaf, number=self._number)
        self._own = Masks(mark=mark, text=self._known.mask, leaf=None, number=self._number)

    def value(self, value: Any) -> Any:
        """A new JSON value of the same types, fit for ledger and people; never raises for JSON, idempotent."""
        return rewrite(value, self._all)

    def text(self, text: str) -> str:
        """The text, fit for ledger and people; JSON inside it is masked as JSON."""
        text = self._known.mask(text)
        if (inner := _json_inside(text)) is None:
            return self._flat(text)
        try:
            masked = self.value(inner)
            return text if masked == inner else self._known.mask(json.dumps(masked, ensure_ascii=False))
        except RecursionError:  # the parser could go deeper than the encoder
            return self._flat(text)

    def known(self, value: Any) -> Any:
        """The text or JSON value, fit for guest and caller: only the secret store's values are masked."""
        return rewrite(value, self._own)

    def stream(self) -> Stream:
        """Masks the secret store's values in text that comes in chunks, as `known` would in the whole."""
        return Stream(self._known)

    def _flat(self, text: str) -> str:
        """Shapes first: names then see what a second masking would see, and masking twice changes nothing."""
        if len(text) < _SHORTEST_FOUND:
            return text
        for rule in (shaped, named):
            places = joined(rule(text, self._known.placeholder))
            marks = {secret: self._mark(secret) for secret in {text[start:end] for start, end, _ in places}}
            text = replaced(text, [Span(start, end, marks[text[start:end]]) for start, end, _ in places])
        return text

    def _leaf(self, text: str) -> str:
        """All of a text under a sensitive name."""
        known = self._known.mask(text)
        return self._mark(known) if known else known

    def _number(self, number: float) -> float:
        """Zero for a number that shows a known value: a number must stay one."""
        if not self._known.numeric:
            return number
        try:
            return 0 if self._known.spans(json.dumps(number)) else number
        except ValueError:  # more digits than Python writes: nobody will see them
            return number

    def _mark(self, text: str) -> str:
        """The mask that stands in `text` already, else one that tells equal secrets of this execution apart."""
        if "[SECRET:" in text and (mask := self._known.placeholder.search(text)):
            return mask[0]
        digest = hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")
        return f"[SECRET:{digest[:4].hex()}]"


def _json_inside(text: str) -> Any:
    """The object or array that `text` is; None for all else, and for one with a key twice (one would be lost)."""
    stripped = text.strip()
    if len(stripped) < 2 or _BRACKETS.get(stripped[0]) != stripped[-1]:
        return None
    try:
        return json.loads(stripped, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
