"""Lists of hosts that may be called, as operators write them: a name or an address, and perhaps a port; no patterns.

An entry without a port means the usual ones, 80 and 443.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from forge_project.kernel.errors import Invalid
from forge_project.kernel.network.addresses import Network
from forge_project.kernel.network.urls import Target, parse

MAX_HOSTS = 100
USUAL = (80, 443)
_PORT = re.compile(r":[0-9]{1,5}$(?!\n)")


def entries(texts: Iterable[str], *, allowed: Sequence[Network] = (), path: str = "/network_hosts") -> list[str]:
    """The list in one spelling, sorted, each once. Raises Invalid with the path of the list and the entry's rule."""
    found = sorted({_entry(text, allowed, path) for text in texts})
    if len(found) > MAX_HOSTS:
        raise Invalid(f"at most {MAX_HOSTS} hosts", path=path, rule="net.hosts")
    return found


def place(target: Target) -> str:
    """Where a URL leads, as `host:port`."""
    return f"{_bracketed(target.host)}:{target.port}"


def listed(where: str, hosts: Collection[str]) -> bool:
    """Whether a list names `host:port`: as it is, or its host alone where the port is a usual one."""
    host, _, port = where.rpartition(":")
    return where in hosts or (port in map(str, USUAL) and host in hosts)


def _entry(text: str, allowed: Sequence[Network], path: str) -> str:
    """Read as the host of a URL is read, so that what can't be called can't be listed either."""
    if set(text) & set("/?"):
        raise Invalid(f"{text[:100]!r} is no host: a name or an address, and perhaps a port", path=path, rule="net.url")
    try:
        target = parse(f"https://{text}", allowed=allowed, path=path)
    except Invalid as fault:
        said = "may not be connected to" if fault.facts["rule"] == "net.private_address" else "is no host"
        raise Invalid(f"{text[:100]!r} {said}", **fault.facts) from None
    return place(target) if _PORT.search(text) else _bracketed(target.host)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
