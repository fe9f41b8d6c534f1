"""File content as JSON text: utf-8 or base64."""

import base64
import binascii
from typing import Any

from forge_project.kernel.errors import Invalid

ENCODING: dict[str, Any] = {"enum": ["utf-8", "base64"]}


def decode(text: str, encoding: str) -> bytes:
    """The bytes a caller means; raises Invalid at /content."""
    try:
        return base64.b64decode(text, validate=True) if encoding == "base64" else text.encode()
    except (binascii.Error, ValueError):  # UnicodeEncodeError, a lone surrogate, is a ValueError
        raise Invalid(f"the content is not {encoding}", path="/content", rule="content.encoding") from None


def encode(content: bytes, encoding: str) -> str:
    """Raises Invalid at /encoding for bytes that are no UTF-8."""
    if encoding == "base64":
        return base64.b64encode(content).decode()
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Invalid("not UTF-8 there: ask for base64", path="/encoding", rule="content.encoding") from None
