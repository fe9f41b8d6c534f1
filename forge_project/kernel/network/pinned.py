"""One HTTP exchange with a checked address: resolved once, pinned, no redirects, no proxy, over by its deadline."""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from forge_project.kernel import clock
from forge_project.kernel.errors import Denied, Failed
from forge_project.kernel.network.addresses import Network, permitted
from forge_project.kernel.network.urls import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What is sent, and how long all of it may take."""

    target: Target
    method: str
    headers: Mapping[str, str]
    body: bytes
    seconds: float


def resolve(target: Target, allowed: Sequence[Network]) -> list[str]:
    """The host's addresses. Raises Failed where there are none, Denied if even one of them may not be connected to."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Failed("the host's name is not known") from None
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if not all(permitted(one, allowed) for one in addresses):
        raise Denied("this address may not be connected to", rule="net.private_address")
    return addresses


def status_of(exchange: Exchange, allowed: Sequence[Network] = ()) -> int:
    """The answer's status, its body unread; raises Denied, Failed (never with an address or a header in it)."""
    until = clock.monotonic() + exchange.seconds
    addresses = resolve(exchange.target, allowed)
    try:
        with _connected(exchange.target, addresses, until) as connection:
            connection.request(exchange.method, exchange.target.path, exchange.body, dict(exchange.headers))
            status = connection.getresponse().status
            if clock.monotonic() < until:  # else we cut it off ourselves, in the middle of its headers perhaps
                return status
            raise Failed("no answer in time")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if clock.monotonic() >= until:
            raise Failed("no answer in time") from None
        raise Failed(f"no answer: {_why(error)}") from None


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


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    if isinstance(error, ssl.SSLError):
        return "no TLS"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    return type(error).__name__
