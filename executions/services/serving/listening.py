"""The web's listening socket. The supervisor holds it: a taken port is known at once, a web restart drops nobody."""

import re
import socket
from dataclasses import dataclass

from forge_project.kernel.errors import Invalid

_BIND = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:]+)\]|(?P<host>[^:\[\]/]+)):(?P<port>\d{1,5})|fd://(?P<fd>\d+)")
_BACKLOG = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """An open listening socket and the address people reach it by."""

    socket: socket.socket
    url: str


def listen(bind: str) -> Listener:
    """HOST:PORT, [ADDRESS]:PORT (port 0: any free one), or fd://N, already listening. Raises Invalid."""
    found = _BIND.fullmatch(bind)
    if found is None or int(found["port"] or 0) > 65535:
        raise Invalid(f"--bind {bind!r}: expected HOST:PORT, such as 127.0.0.1:8000", path="/bind")
    try:
        made = (
            _inherited(int(found["fd"])) if found["fd"] else _bound(found["six"] or found["host"], int(found["port"]))
        )
    except OSError as error:
        why = error.strerror or error
        raise Invalid(f"can't listen on {bind}: {why}; choose another --bind", path="/bind") from None
    host, port = made.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # a comparison, nothing is bound
    return Listener(socket=made, url=f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")


def _inherited(fd: int) -> socket.socket:
    made = socket.socket(fileno=fd)
    made.getsockname()
    return made


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    return made
