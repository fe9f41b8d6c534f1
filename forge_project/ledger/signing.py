"""Ed25519 signatures of checkpoints and tombstones. The key is the checkpoint process's alone; all else verifies."""

import base64
import hashlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

from forge_project.kernel.errors import NotReady


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs texts; `key_id` is derived from the public key."""

    key: Ed25519PrivateKey

    @property
    def key_id(self) -> str:
        """Which public key verifies."""
        return _id(self.key.public_key())

    def sign(self, text: str) -> str:
        """The signature, base64."""
        return base64.b64encode(self.key.sign(text.encode())).decode()


def signer() -> Signer:
    """The checkpoint key: of FORGE_CHECKPOINT_KEY, or (embedded) of `var/checkpoint.key`, made once, 0600."""
    given = settings.FORGE_CHECKPOINT_KEY
    if given:
        return Signer(_private(given))
    if settings.FORGE_MODE != "embedded":
        raise NotReady("FORGE_CHECKPOINT_KEY is missing: 32 bytes in base64, for this process alone", part="key")
    path = settings.FORGE_VAR / "checkpoint.key"
    if not path.exists():
        _make(path)
    key = _private(path.read_text())
    public = settings.FORGE_VAR / "checkpoint.pub"
    if not public.exists():
        _write_once(public, base64.b64encode(key.public_key().public_bytes_raw()).decode())
    return Signer(key)


def has_key() -> bool:
    """Whether `signer` has a key to sign with here."""
    return bool(settings.FORGE_CHECKPOINT_KEY) or settings.FORGE_MODE == "embedded"


def without_key(env: Mapping[str, str]) -> dict[str, str]:
    """An environment for processes that verify: the private key's place is taken by its public half."""
    kept = {name: value for name, value in env.items() if name != "FORGE_CHECKPOINT_KEY"}
    if given := settings.FORGE_CHECKPOINT_KEY:
        public = base64.b64encode(_private(given).public_key().public_bytes_raw()).decode()
        trusted = [*settings.FORGE_CHECKPOINT_PUBLIC_KEYS, public]
        kept["FORGE_CHECKPOINT_PUBLIC_KEYS"] = ",".join(dict.fromkeys(trusted))
    return kept


def holds(text: str, signature: str, key_id: str) -> bool:
    """Whether one of the public keys we trust made this signature of this text."""
    key = _trusted().get(key_id)
    if key is None:
        return False
    try:
        key.verify(base64.b64decode(signature, validate=True), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def _trusted() -> dict[str, Ed25519PublicKey]:
    given = list(settings.FORGE_CHECKPOINT_PUBLIC_KEYS)
    if settings.FORGE_CHECKPOINT_KEY:
        public = _private(settings.FORGE_CHECKPOINT_KEY).public_key().public_bytes_raw()
        given.append(base64.b64encode(public).decode())
    file = settings.FORGE_VAR / "checkpoint.pub"
    if settings.FORGE_MODE == "embedded" and file.exists():
        given.append(file.read_text().strip())
    return {_id(key): key for key in map(_public, given)}


@lru_cache(maxsize=16)
def _public(text: str) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
    except ValueError:
        raise NotReady("a key of FORGE_CHECKPOINT_PUBLIC_KEYS is not 32 bytes in base64", part="key") from None


def _private(text: str) -> Ed25519PrivateKey:
    try:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(text.strip(), validate=True))
    except ValueError:
        raise NotReady("FORGE_CHECKPOINT_KEY is not 32 bytes in base64", part="key") from None


def _id(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def _make(path: Path) -> None:
    _write_once(path, base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()).decode())


def _write_once(path: Path, text: str) -> None:
    """Made aside and linked into place, so that two first uses agree on one key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(aside, path)
    except FileExistsError:
        pass
    finally:
        aside.unlink()
