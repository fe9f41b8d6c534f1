"""RFC 8785 canonical JSON, with a fast path for what the standard encoder already writes the same way."""

import hashlib
import json
from typing import Any

import rfc8785

from forge_project.kernel import strict_json

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a JSON value; raises Invalid (with the path) for what has none."""
    try:
        if _plain(value):
            return _encode(value).encode()
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError):
        strict_json.refuse_faults(value, nul=True)
        raise


def _plain(value: Any) -> bool:
    """True where sorting by code point equals RFC 8785's order and no number needs ECMAScript's format."""
    kind = type(value)
    if kind is dict:
        return all(type(key) is str and key.isascii() and _plain(inner) for key, inner in value.items())
    if kind is list:
        return all(map(_plain, value))
    if kind is int:
        return bool(-strict_json.MAX_SAFE_INTEGER <= value <= strict_json.MAX_SAFE_INTEGER)
    return kind is str or kind is bool or value is None


def text(value: Any) -> str:
    """`canonical` as text, for columns."""
    return canonical(value).decode()


def sha256(data: bytes) -> str:
    """Lower-case hex SHA-256: the public digest of content."""
    return hashlib.sha256(data).hexdigest()
