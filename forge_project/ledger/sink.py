"""The sink of checkpoints: an append-only file elsewhere, one JSON line each, that the database can be held against."""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import NotReady

_BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A checkpoint as it was signed, wherever it was read."""

    payload: str
    signature: str
    key_id: str

    @property
    def digest(self) -> str:
        """What the next checkpoint names as its `prev`."""
        return sha256(self.payload.encode())

    def body(self) -> dict[str, Any]:
        """The payload; ValueError where it is no JSON object."""
        return dict(json.loads(self.payload))


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A head that somebody was told."""

    invocation: str
    seq: int
    head: str


def append(path: Path, lines: Sequence[Signed]) -> None:
    """Appends what is not there yet, and waits until it is on the disk; a torn last line is left behind as it is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        there = last(path)
        number = there.body()["checkpoint"] if there else 0
        new = [line for line in lines if line.body()["checkpoint"] > number]
        text = "".join(_line(line) for line in new)
        size = os.fstat(fd).st_size
        torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        data = (("\n" if torn else "") + text).encode()
        while data:
            data = data[os.write(fd, data) :]
        os.fsync(fd)


def _line(line: Signed) -> str:
    told = {"payload": line.payload, "signature": line.signature, "key_id": line.key_id}
    return json.dumps(told, separators=(",", ":")) + "\n"


def read(path: Path) -> Iterator[Signed | Receipt]:
    """Every line that can be read, in order: checkpoints and receipts. NotReady if the file can't be opened."""
    try:
        with path.open("rb") as file:
            for line in file:
                if (found := _parsed(line)) is not None:
                    yield found
    except OSError as error:
        raise NotReady(f"{path.name} can't be read: {error.strerror}", part="sink") from None


def _parsed(line: bytes) -> Signed | Receipt | None:
    """A torn line says nothing; that a whole one is missing shows in the chain."""
    try:
        told = json.loads(line)
        if "payload" in told:
            found = Signed(payload=told["payload"], signature=told["signature"], key_id=told["key_id"])
            return found if type(found.body()["checkpoint"]) is int else None
        return Receipt(invocation=str(told["invocation"]), seq=int(told["seq"]), head=str(told["head"]))
    except (ValueError, TypeError, KeyError):
        return None


def last(path: Path) -> Signed | None:
    """The newest checkpoint in the file, read from its end."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        tail = b""
        while end > 0:
            start = max(0, end - _BLOCK)
            file.seek(start)
            tail = file.read(end - start) + tail
            end = start
            lines = tail.split(b"\n")
            for line in reversed(lines if start == 0 else lines[1:]):
                found = _parsed(line)
                if isinstance(found, Signed):
                    return found
    return None
