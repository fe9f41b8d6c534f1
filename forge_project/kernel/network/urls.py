"""URLs that Forge may be asked to call, read strictly: `urlsplit` drops CR, LF and TAB, and libc resolves 0x7f.1."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from forge_project.kernel.errors import Invalid
from forge_project.kernel.network.addresses import Network, permitted

MAX_URL = 2000
_URL = re.compile(
    r"(?P<scheme>https?)://(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<host>[A-Za-z0-9._-]{1,253}))"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>(?:[/?][!-\"$-\[\]-~]*)?)"  # no space, no control, no backslash, no fragment
)
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL in parts; `path` has its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """Scheme, host and port, which may be shown: a path or a query may hold a token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return f"{self.scheme}://{host}" + ("" if self.port == usual else f":{self.port}")


def parse(url: str, *, allowed: Sequence[Network] = (), plain: bool = False, path: str = "/url") -> Target:
    """The URL's parts; a literal address is checked now, a name when it is resolved. `plain`: http passes too.

    Raises Invalid with `rule` net.url, net.scheme or net.private_address.
    """
    found = _URL.fullmatch(url) if len(url) <= MAX_URL else None
    if found is None:
        raise Invalid("not a URL that can be called", path=path, rule="net.url")
    if found["scheme"] == "http" and not plain:
        raise Invalid("only https is called", path=path, rule="net.scheme")
    port = int(found["port"] or {"http": 80, "https": 443}[found["scheme"]])
    host = _host(found["six"], found["host"], path)
    if not 0 < port < 65536:
        raise Invalid("there is no such port", path=path, rule="net.url")
    literal = ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2])
    if (literal and not permitted(host, allowed)) or (_local(host) and not permitted("127.0.0.1", allowed)):
        raise Invalid("this address may not be connected to", path=path, rule="net.private_address")
    target = found["path"]
    return Target(scheme=found["scheme"], host=host, port=port, path=target if target[:1] == "/" else "/" + target)


def _host(six: str | None, name: str | None, path: str) -> str:
    try:
        if six is not None:
            return str(IPv6Address(six))
        host = (name or "").lower().removesuffix(".")
        if _NUMBER.fullmatch(host.rpartition(".")[2]):  # as browsers read it: such a host is an IPv4 address
            return str(IPv4Address(host))
    except ValueError:
        raise Invalid("not an address", path=path, rule="net.url") from None
    if not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise Invalid("not a host name", path=path, rule="net.url")
    return host


def _local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")
