"""A private key that is said piece by piece: what its first lines betray, the later ones alone do not."""

import re

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def left_open(text: str, *, inside: bool = False) -> bool:
    """Whether a key begins in `text` and does not end there; `inside`: one was open before it."""
    begun = [match.end() for match in _BEGIN.finditer(text)]
    last = begun[-1] if begun else 0 if inside else None
    return last is not None and _END.search(text, last) is None


def rest_of_key(text: str) -> int:
    """How much of `text` still belongs to a key that was open before it: up to its end, or all."""
    end = _END.search(text)
    return end.end() if end else len(text)
