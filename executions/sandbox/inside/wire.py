"""Frames on the guest's socket: four bytes of length, then that many bytes of ASCII JSON."""

import codecs
import os
import struct
from _json import encode_basestring_ascii  # the C part of json alone

FRAME_BYTES = 8 * 1024 * 1024
HEADER = struct.Struct(">I")
PROTOCOL = 1
_FIRST_BYTES = 64 * 1024


def frame(kind: str, seq: int, payload: str) -> bytes:
    """One whole frame around a payload that is JSON text already."""
    body = f'{{"protocol":{PROTOCOL},"type":"{kind}","seq":{seq},"payload":{payload}}}'.encode("ascii", "jsonescape")
    return HEADER.pack(len(body)) + body


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: a run of what is not ASCII, in well-formed JSON text, as \\uXXXX."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return encode_basestring_ascii(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("jsonescape", _escaped)


def payload(body: bytes, kind: str, seq: int) -> str | None:
    """The payload's text if `body` is a frame of that kind and number, written as `frame` writes it."""
    text = body.decode("ascii")
    start = f'{{"protocol":{PROTOCOL},"type":"{kind}","seq":{seq},"payload":'
    return text[len(start) : -1] if text.startswith(start) else None


def write(fd: int, data: bytes) -> None:
    """Writes all of `data`; the guest has nothing else to do meanwhile."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def read(fd: int) -> bytes:
    """The next frame's body; EOFError once the host has closed its end."""
    first = _some(fd, _FIRST_BYTES)
    while len(first) < HEADER.size:
        first += _some(fd, _FIRST_BYTES)
    size = HEADER.unpack_from(first)[0] + HEADER.size
    if len(first) == size:  # nearly always: the host says one frame, then waits
        return first[HEADER.size :]
    parts, size = [first[HEADER.size :]], size - len(first)
    while size:
        parts.append(_some(fd, size))
        size -= len(parts[-1])
    return b"".join(parts)


def _some(fd: int, most: int) -> bytes:
    part = os.read(fd, most)
    if not part:
        raise EOFError("the host is gone")
    return part


# Exit status of a guest: what the host can see of an ending beside the frames.
DONE, HOST_GONE, NULL_THROWN, NO_MEMORY, BROKEN = 0, 2, 3, 4, 70
