"""Keyed digests of JSON: `jcs1:hmac-sha256:<key id>:<hex>`. A guess can't be checked without the key."""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any

from forge_project.kernel.canonical import canonical

SCHEME = "jcs1:hmac-sha256"


class Fingerprints:
    """Makes digests with the first key and compares with any; keys are secret texts of 16 characters or more."""

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys or any(len(key) < 16 for key in keys):
            raise ValueError("FORGE_FINGERPRINT_KEYS needs one or more keys of at least 16 characters")
        self._keys = {hashlib.sha256(b"forge key id\n" + key.encode()).hexdigest()[:8]: key.encode() for key in keys}
        self._first = next(iter(self._keys))

    def of(self, value: Any, like: str = "") -> str:
        """The digest of `value` under the newest key, or under the key that made the digest `like`."""
        key_id = like.split(":")[2] if like else self._first
        if key_id not in self._keys:
            raise ValueError("the key that made this digest is not among FORGE_FINGERPRINT_KEYS")
        return self._digest(key_id, value)

    def match(self, digest: str, value: Any) -> bool:
        """Whether `digest` was made of `value`, under whichever of our keys it names."""
        scheme, _, rest = digest.rpartition(":")
        scheme, _, key_id = scheme.rpartition(":")
        if scheme != SCHEME or key_id not in self._keys or not rest.isascii():
            return False
        return hmac.compare_digest(digest, self._digest(key_id, value))

    def _digest(self, key_id: str, value: Any) -> str:
        return f"{SCHEME}:{key_id}:{hmac.new(self._keys[key_id], canonical(value), hashlib.sha256).hexdigest()}"

    def __repr__(self) -> str:
        return f"Fingerprints({len(self._keys)} keys)"
