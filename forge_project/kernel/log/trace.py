"""Which request and which trace the current thread works for: W3C `traceparent` in, or a new one."""

import hashlib
import re
import secrets
from contextlib import AbstractContextManager
from typing import Any

from structlog.contextvars import bound_contextvars, get_contextvars

_TRACEPARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
)


def bound(**fields: Any) -> AbstractContextManager[None]:
    """Every line this thread logs inside the block has these fields; empty ones are left out."""
    return bound_contextvars(**{name: value for name, value in fields.items() if value not in ("", None)})


def current(name: str) -> str:
    """A bound field's value, or nothing."""
    return str(get_contextvars().get(name, ""))


def read(header: str) -> str:
    """The header's traceparent if it is one (a later version's first four parts count), else a new one."""
    found = _TRACEPARENT.match(header)
    if (
        found is None
        or found["version"] == "ff"
        or not (header[found.end() :] == "" or (found["version"] != "00" and header[found.end()] == "-"))
        or not int(found["trace"], 16)
        or not int(found["span"], 16)
    ):
        return made()
    return f"00-{found['trace']}-{found['span']}-{found['flags']}"


def made() -> str:
    """A new trace."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-00"


def child(traceparent: str, name: str) -> str:
    """The same trace, in the span that `name` stands for: the same name is the same span."""
    _, trace, _, flags = (traceparent or made()).split("-")
    return f"00-{trace}-{hashlib.sha256(name.encode()).hexdigest()[:16]}-{flags}"
