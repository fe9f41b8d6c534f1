"""The host's end of a guest's socket: whole frames in, sized before they are read; bytes out."""

import socket

from executions.sandbox.frames import Violation
from executions.sandbox.inside.wire import HEADER
from executions.sandbox.limits import FRAME_BYTES

_SEND_SECONDS = 5.0
_CHUNK = 256 * 1024


class Closed(Exception):  # an ending
    """The guest's end is closed."""


class Channel:
    """Frames over a stream socket; at most one frame and a chunk are ever held."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._held = bytearray()
        self._waits = -1.0

    def read(self, seconds: float) -> bytes | None:
        """The next frame's body, or None if it was not whole within about `seconds`."""
        if (body := self._take()) is not None:
            return body
        if seconds != self._waits:
            self._sock.settimeout(seconds)
            self._waits = seconds
        while True:
            try:
                chunk = self._sock.recv(_CHUNK)
            except (TimeoutError, BlockingIOError):
                return None
            except OSError:
                raise Closed from None
            if not chunk:
                raise Closed
            self._held += chunk
            if (body := self._take()) is not None:
                return body

    def has_frame(self) -> bool:
        """Whether a whole frame is held already; looks at what has arrived, never waits."""
        if self._size() is None:
            self._waits = 0.0
            self._sock.settimeout(0.0)
            try:
                self._held += self._sock.recv(_CHUNK)
            except OSError:
                return False
        return self._size() is not None

    def send(self, data: bytes) -> None:
        """Sends all of it; Closed if nobody is there, TimeoutError if nobody takes it."""
        try:
            sent = self._try_send(data)
            if sent < len(data):
                self._waits = _SEND_SECONDS
                self._sock.settimeout(_SEND_SECONDS)
                self._sock.sendall(memoryview(data)[sent:])
        except TimeoutError:
            raise
        except OSError:
            raise Closed from None

    def _try_send(self, data: bytes) -> int:
        """What the socket takes at once: nearly always all of it."""
        try:
            return self._sock.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """The guest sees its host gone."""
        self._sock.close()

    def _size(self) -> int | None:
        """Length of the whole frame at the head of what is held."""
        if len(self._held) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(self._held)
        if size > FRAME_BYTES:
            raise Violation(f"a frame of {size} bytes")
        end: int = HEADER.size + size
        return end if len(self._held) >= end else None

    def _take(self) -> bytes | None:
        end = self._size()
        if end is None:
            return None
        body = bytes(self._held[HEADER.size : end])
        del self._held[:end]
        return body
