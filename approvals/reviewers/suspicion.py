"""Signs that a text speaks to its reviewer. None proves it honest; with one of them a person looks, whoever allows.

A list of phrases is never complete: it stands behind the rule's own limits (risk, wholeness), not in their place.
"""

import re
import unicodedata
from typing import Any

from forge_project.kernel import visible

_SIGNS = re.compile(
    r"""\b(ignore|disregard|forget|override|bypass)\b.{0,40}\b(instruct|previous|prior|above|earlier|rule|polic|prompt)
    |\b(system|developer|assistant)\s*(prompt|message|:|\])|<\|?/?\s*(im_start|im_end|system|assistant|user|eot|s)\b
    |\[/?inst\]|\#\#\#\s*(system|instruction|response)|["']?(decision|verdict)["']?\s*[:=]
    |\b(respond|reply|answer|return|output|say)\b.{0,30}\b(allow|approve|escalate|deny|json|safe)
    |\b(you|reviewer|model|ai|judge)\b.{0,30}\b(must|should|shall|may|can|will|are\ to|please|now)\b
    |\b(dear|note\ to|attention|hello|hi)\b.{0,15}\b(reviewer|model|ai|judge|assistant)
    |\b(reviewer|moderator|safety\ (team|check|filter)|pre-?approved|already\ (been\ )?(approved|reviewed|allowed))\b
    |\b(no|without)\s+(human|person|review|approval)|\ballow\s+(this|it|the)\b|\bapprove\s+(this|it|the)\b
    |\b(begin|end)\ (of\ )?(data|request|untrusted|agent|input)\b""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ENCODED = re.compile(r"[A-Za-z0-9+/]{80,}={0,2}|(?:\\x[0-9a-fA-F]{2}){12,}|(?:%[0-9a-fA-F]{2}){12,}")
_MOST_REPEATED = re.compile(r"(.)\1{199}", re.DOTALL)


def suspicious(*texts: Any) -> bool:
    """Whether any text in these JSON values speaks to a reviewer, hides, or pads."""
    todo = list(texts)
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            todo += value
        elif isinstance(value, str) and _speaks(value):
            return True
    return False


def _speaks(text: str) -> bool:
    plain = unicodedata.normalize("NFKC", text)
    hides = any(visible.hidden(char) for char in text if char != "\r")
    # Hiding a word in another alphabet's letters is a sign by itself.
    mixed = visible.name(re.sub(r"\s", "", text))[1] if len(text) <= 100_000 else ("too long",)
    return bool(
        hides or mixed or _SIGNS.search(plain) or _ENCODED.search(plain) or _MOST_REPEATED.search(plain)
    ) or _spelled(plain)


def _spelled(text: str) -> bool:
    """Signs whose letters stand apart: `i g n o r e`, `a.l.l.o.w`."""
    joined = re.sub(r"(?<=\b\w)[\s._*-](?=\w\b)", "", text)
    return joined != text and _SIGNS.search(joined) is not None
