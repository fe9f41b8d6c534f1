"""What is kept in the clear only under encryption, and what of it may be shown."""

import hashlib
import hmac
from functools import lru_cache
from typing import Any

from django.conf import settings

from forge_project.kernel import canonical, strict_json
from forge_project.kernel.redaction import Redactor


def seal(value: Any) -> bytes:
    """The encrypted form of a JSON value."""
    token: bytes = settings.FORGE_SEALER.seal(value)
    return token


def unseal(token: bytes | memoryview) -> Any:
    """What `seal` was given."""
    return settings.FORGE_SEALER.open(bytes(token))


def digest(value: Any) -> str:
    """The keyed fingerprint of a JSON value."""
    return str(settings.FORGE_FINGERPRINTS.of(value))


@lru_cache(maxsize=256)
def redactor(ref: str) -> Redactor:
    """The redactor of one execution: the same secret gets another mark in another execution."""
    return Redactor(hmac.new(settings.SECRET_KEY.encode(), f"redaction\n{ref}".encode(), hashlib.sha256).digest())


def shown(ref: str, value: Any) -> Any:
    """A JSON value as people may see it."""
    return redactor(ref).value(value)


def column(value: Any) -> Any:
    """A JSON value as PostgreSQL's text and jsonb columns can hold it: U+0000 stands as the six characters \\u0000."""
    if isinstance(value, str):
        return value.replace("\0", "\\u0000")
    if isinstance(value, list):
        return [column(item) for item in value]
    if isinstance(value, dict):
        return {column(key): column(item) for key, item in value.items()}
    return value


def said(ref: str, text: str) -> str:
    """A text the agent wrote, redacted, for a text column."""
    return str(column(redactor(ref).text(text)))


def shown_text(ref: str, value: Any) -> str:
    """`shown` as canonical JSON text, for columns."""
    return canonical.text(shown(ref, value))


def parse(text: str) -> Any:
    """Canonical JSON text of a column back as a value."""
    return strict_json.loads(text, nul=True) if text else None
