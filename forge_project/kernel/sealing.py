"""Encryption at rest: what replay and reconciliation need in the clear is kept only as tokens of MultiFernet."""

import json
import re
from collections.abc import Sequence
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from forge_project.kernel.canonical import canonical
from forge_project.kernel.errors import NotReady

_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")


class SealBroken(NotReady):
    """No configured key opens this token: sealed by another key (an operator can bring it back), or altered."""


class Sealer:
    """Seals with the first key and opens with any of them; no key is ever part of its text or its errors."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Raises ValueError naming (by place, never by value) the first key that is none."""
        if isinstance(keys, str) or not keys:
            raise ValueError("sealing keys: expected a list of at least one key")
        self._fernet = MultiFernet([_fernet(key, at, len(keys)) for at, key in enumerate(keys, 1)])
        self._count = len(keys)

    def seal(self, value: Any) -> bytes:
        """A token holding the canonical JSON of `value`; raises Invalid for what is not JSON."""
        return self.seal_bytes(canonical(value))

    def open(self, token: bytes) -> Any:
        """The value `seal` was given; raises SealBroken."""
        return json.loads(self.open_bytes(token))

    def seal_bytes(self, data: bytes) -> bytes:
        """A token holding `data`; 4/3 its size and some."""
        return self._fernet.encrypt(data)

    def open_bytes(self, token: bytes) -> bytes:
        """The bytes `seal_bytes` was given; raises SealBroken."""
        try:
            return self._fernet.decrypt(bytes(token))  # SQLite and psycopg hand out memoryviews
        except InvalidToken:
            raise SealBroken(self._refusal(), part="sealing") from None

    def rotate(self, token: bytes) -> bytes:
        """The same content and time, sealed again with the first key; raises SealBroken."""
        try:
            return self._fernet.rotate(bytes(token))
        except InvalidToken:
            raise SealBroken(self._refusal(), part="sealing") from None

    def _refusal(self) -> str:
        return f"none of the {self._count} sealing keys opens this: sealed with another key, or altered"

    def __repr__(self) -> str:
        return f"<Sealer: {self._count} keys>"


def _fernet(key: str, at: int, count: int) -> Fernet:
    # Checked here and not by Fernet: its decoder skips foreign characters and takes two keys run together for one.
    if not _KEY.fullmatch(key.strip()):
        raise ValueError(f"sealing key {at} of {count} is not 32 bytes in url-safe base64")
    return Fernet(key.strip())
