"""Bytes in files named by their SHA-256, under FORGE_VAR/artifacts/ab/cd/; checked each time they are read."""

import hashlib
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from forge_project.kernel.canonical import sha256 as digest_of
from forge_project.kernel.errors import Failed, Invalid

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1 << 20


def write(content: bytes) -> str:
    """Stores `content` durably and once; returns its digest. Files only: call it outside any transaction."""
    digest = digest_of(content)
    place = _place(digest)
    _make_directories(place.parent)
    if not _holds(place, digest):  # a damaged file is replaced: only its own content can have this name
        _write_aside(place, content)
    for directory in place.parents[:4]:
        _sync(directory)  # also for a file another writer has just renamed: it must be there before a row says so
    return digest


def read(digest: str, offset: int = 0, limit: int | None = None) -> bytes:
    """Up to `limit` bytes from `offset`; the whole file is checked first. Raises Failed (artifact.lost, .damaged)."""
    if offset < 0 or (limit is not None and limit < 0):
        raise Invalid("offset and limit are not negative", path="/offset")
    end = None if limit is None else offset + limit
    found, part, at = hashlib.sha256(), bytearray(), 0
    try:
        with open(_place(digest), "rb", buffering=0, opener=_no_links) as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
                part += chunk[max(0, offset - at) : None if end is None else max(0, end - at)]
                at += len(chunk)
    except OSError as fault:
        raise Failed("the stored content can't be read", rule="artifact.lost", sha256=digest) from fault
    if found.hexdigest() != digest:
        raise Failed("the stored content is damaged", rule="artifact.damaged", sha256=digest)
    return bytes(part)


def _place(digest: str) -> Path:
    if not _DIGEST.fullmatch(digest):
        raise Invalid("a digest is 64 lower-case hex digits", path="/sha256")
    return Path(settings.FORGE_VAR) / "artifacts" / digest[:2] / digest[2:4] / digest


def _holds(place: Path, digest: str) -> bool:
    try:
        return read(digest, 0, 0) == b""
    except Failed:
        return False


def _write_aside(place: Path, content: bytes) -> None:
    handle, aside = tempfile.mkstemp(prefix=".new-", dir=place.parent)  # 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(aside, place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(aside)
        raise


def _make_directories(leaf: Path) -> None:
    for directory in (leaf.parents[2], leaf.parents[1], leaf.parent, leaf):
        directory.mkdir(mode=0o700, exist_ok=True)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _no_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
