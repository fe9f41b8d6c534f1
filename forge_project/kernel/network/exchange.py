"""The one way Forge itself sends HTTP: a host resolved once, its address checked and pinned, one deadline for it all.

No redirect is followed, no proxy is used, and certificates are checked. The deadline covers the name's resolution,
connecting, sending and every byte of the answer.
"""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from forge_project.kernel import clock
from forge_project.kernel.errors import Denied, Failed, TooLarge
from forge_project.kernel.network import names
from forge_project.kernel.network.addresses import Network, permitted
from forge_project.kernel.network.urls import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What is sent, how long all of it may take, how many bytes of the answer's body are wanted."""

    target: Target
    method: str
    headers: Mapping[str, str]
    body: bytes
    seconds: float
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A status, and the body where one was wanted."""

    status: int
    body: bytes = b""


def exchange(asked: Exchange, allowed: Sequence[Network] = ()) -> Answer:
    """The answer, whatever its status. Raises Denied, TooLarge, Failed (code TIMEOUT past the deadline).

    No message has an address or a header in it.
    """
    until = clock.monotonic() + asked.seconds
    addresses = resolve(asked.target, allowed, asked.seconds)
    try:
        with _connected(asked.target, addresses, until) as connection:
            connection.request(asked.method, asked.target.path, asked.body, dict(asked.headers))
            with connection.getresponse() as told:  # where it ends with the connection, that has let go of it
                body = told.read(asked.most + 1) if asked.most else b""
    except (OSError, http.client.HTTPException, ValueError) as error:
        if clock.monotonic() >= until:
            raise _late() from None
        raise Failed(f"no answer: {_why(error)}") from None
    if clock.monotonic() >= until:  # we cut it off ourselves, in the middle of its headers perhaps
        raise _late()
    if len(body) > asked.most:
        raise TooLarge("the answer is too long", limit=asked.most)
    return Answer(status=told.status, body=body)


def resolve(target: Target, allowed: Sequence[Network], seconds: float) -> list[str]:
    """The host's addresses. Raises Failed where there are none, Denied if even one of them may not be connected to."""
    addresses = names.addresses_of(target.host, seconds)
    if not all(permitted(one, allowed) for one in addresses):
        raise Denied("this address may not be connected to", rule="net.private_address")
    return addresses


@contextmanager
def _connected(target: Target, addresses: Sequence[str], until: float) -> Iterator[http.client.HTTPConnection]:
    """Cut off from another thread at its deadline: a socket's own timeout begins again with every byte."""
    raw = _dialled(target, addresses, until)
    cut = threading.Timer(max(0.0, until - clock.monotonic()), _cut, [raw])
    cut.daemon = True
    cut.start()
    connection = http.client.HTTPConnection(target.host, target.port)
    try:
        used: socket.socket = raw
        if target.scheme == "https":
            used = ssl.create_default_context().wrap_socket(raw, server_hostname=target.host)
        connection.sock = used
        yield connection
    finally:
        cut.cancel()
        connection.close()
        raw.close()


def _dialled(target: Target, addresses: Sequence[str], until: float) -> socket.socket:
    refused: OSError = OSError("no address")
    for address in addresses:
        left = until - clock.monotonic()
        if left <= 0:
            break
        try:
            return socket.create_connection((address, target.port), timeout=left)
        except OSError as error:
            refused = error
    raise refused


def _cut(raw: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(raw, socket.SHUT_RDWR)  # past TLS: nothing is to be said any more


def _late() -> Failed:
    return Failed("no answer in time", code="TIMEOUT", retryable=True)


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    if isinstance(error, ssl.SSLError):
        return "no TLS"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    return type(error).__name__
