"""One HTTP POST with one deadline over connecting, sending and every byte of the answer. No redirect is followed."""

import http.client
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from forge_project.kernel import clock
from forge_project.kernel.errors import Failed, TooLarge

MAX_ANSWER = 64 * 1024


def post(url: str, body: bytes, *, key: str, seconds: float) -> tuple[int, bytes]:
    """Status and body. Raises Failed past the deadline, TooLarge, OSError, http.client.HTTPException."""
    place = urlsplit(url)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.hostname or "", place.port, timeout=seconds)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    ends = clock.monotonic() + seconds
    connection.connect()
    # A read that gets a byte now and then never times out by itself.
    timer = threading.Timer(max(0.0, ends - clock.monotonic()), _hang_up, [connection.sock])
    timer.daemon = True
    timer.start()
    try:
        connection.request("POST", f"{place.path or '/'}{'?' if place.query else ''}{place.query}", body, headers)
        answer = connection.getresponse()
        text = answer.read(MAX_ANSWER + 1)
    finally:
        timer.cancel()
        connection.close()
    if clock.monotonic() >= ends:
        raise Failed("the reviewer did not answer in time")
    if len(text) > MAX_ANSWER:
        raise TooLarge("the reviewer's answer is too long", limit=MAX_ANSWER)
    return answer.status, text


def _hang_up(sock: socket.socket) -> None:
    """The socket itself: the connection forgets it once an answer without a length has begun."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
