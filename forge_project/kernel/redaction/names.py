"""Which names promise a secret: whole words, split where case, `_` or `-` change, so `max_tokens` is none."""

import re
from functools import lru_cache
from itertools import pairwise

_ONE = (
    "authorization",
    "bearer",
    "apikey",
    "token",
    "password",
    "passwd",
    "passphrase",
    "cookie",
    "secret",
    "privatekey",
)
_MANY = ("passwords", "cookies", "secrets")  # where the plural holds secrets too: `tokens` is a count everywhere
_WORDS = frozenset(_ONE + _MANY)
_PAIRS = frozenset({("api", "key"), ("private", "key")})
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_LONGEST = 256  # of a longer name the end is judged, where its noun is


#: Found in every text that has a sensitive name in it.
STEM = re.compile("authorization|bearer|key|token|passw|passphrase|cookie|secret", re.IGNORECASE)
SHORTEST = 5  # letters of a sensitive name at least


def sensitive(name: str) -> bool:
    """True where the value under this name is to be masked."""
    return _sensitive(name[-_LONGEST:])


def number_is_secret(name: str) -> bool:
    """True where the secret word comes last: `password: 1234` hides a number, `token_count: 5` has none to hide."""
    parts = _words(name[-_LONGEST:])
    return bool(parts) and (parts[-1] in _WORDS or tuple(parts[-2:]) in _PAIRS)


@lru_cache(maxsize=4096)
def _sensitive(name: str) -> bool:
    parts = _words(name)
    return not _WORDS.isdisjoint(parts) or any(pair in _PAIRS for pair in pairwise(parts))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _SPLIT.findall(name)]
