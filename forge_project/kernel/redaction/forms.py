"""The texts one secret value may show itself as.

Not covered, and not coverable by a list: reversed, split up, compressed, encrypted, double-encoded, mixed-case hex.
"""

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_from_bytes

SHORTEST = 4  # below this a mask hides nothing and eats the text (the secret store itself asks for 16)
_SHORTEST_CORE = 8  # base64 of a part of the value: shorter ones are found in any text
_SHORTEST_LINE = 16
_WRAPS = (64, 76)  # where openssl and base64(1) break lines
_URL_SAFE = ("", "/", "!*'()", "!*'();/?:@&=+$,#")  # quote_plus and form encoding, quote, encodeURIComponent, encodeURI


def forms(value: str) -> set[str]:
    """Every form of `value` and, where it is JSON or has lines, of its leaves and longer lines."""
    found: set[str] = set()
    for part in {value, value.strip(), *_leaves(value), *_lines(value)}:
        if len(part) >= SHORTEST:
            found.update(form for form in _forms(part) if len(form) >= SHORTEST)
    return found


def _forms(value: str) -> Iterator[str]:
    data = value.encode("utf-8", "surrogatepass")
    yield value
    yield from _escaped(value)
    yield from (data.hex(), data.hex().upper())
    for encoded in _base64(data):
        yield from (encoded, encoded.translate({43: "-", 47: "_"}))  # + and /
        yield from _percent(encoded.encode())
    yield from _percent(data)


def _escaped(value: str) -> Iterator[str]:
    """As JSON and Python write it inside quotes, and as JSON inside JSON."""
    yield repr(value)[1:-1]
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        for text in {once, once.replace("/", "\\/")}:
            yield from (text, json.dumps(text, ensure_ascii=ascii_only)[1:-1])
    upper = "".join(char if char.isascii() else json.dumps(char)[1:-1].upper().replace("U", "u") for char in value)
    yield upper


def _base64(data: bytes) -> Iterator[str]:
    whole = base64.b64encode(data).decode()
    yield from (whole, whole.rstrip("="))
    for offset in range(3):  # inside a longer text (`user:password`) the same bytes look three ways
        first = -(-offset * 8 // 6)  # characters before this one share bits with what precedes the value
        last = (offset + len(data)) * 8 // 6
        core = base64.b64encode(bytes(offset) + data).decode()[first:last]
        if len(core) >= _SHORTEST_CORE:
            yield core
    for width in _WRAPS:
        if len(whole) > width:
            lines = (whole[at : at + width] for at in range(0, len(whole), width))
            yield from (line for line in lines if len(line) >= _SHORTEST_CORE)


def _percent(data: bytes) -> Iterator[str]:
    for safe in _URL_SAFE:
        text = quote_from_bytes(data, safe=safe)
        lower = _lower_escapes(text)
        yield from (text, lower, text.replace("%20", "+"), lower.replace("%20", "+"))
    every = "".join(f"%{byte:02X}" for byte in data)
    yield from (every, every.lower())


def _lower_escapes(text: str) -> str:
    head, *rest = text.split("%")
    return "".join([head, *(f"%{part[:2].lower()}{part[2:]}" for part in rest)])


def _leaves(value: str) -> Iterator[str]:
    """The texts and numbers of a secret that is JSON (a service account): each is shown alone sooner or later."""
    try:
        stack: list[Any] = [json.loads(value)] if value.lstrip()[:1] in ("{", "[", '"') else []
    except (ValueError, RecursionError):
        return
    while stack:
        node = stack.pop()
        if isinstance(node, dict | list):
            stack.extend(node.values() if isinstance(node, dict) else node)
        elif isinstance(node, str) or (isinstance(node, int | float) and not isinstance(node, bool)):
            yield node if isinstance(node, str) else json.dumps(node)


def _lines(value: str) -> Iterator[str]:
    """The lines of a key file, which logs print one by one; its BEGIN and END say nothing."""
    for line in map(str.strip, value.splitlines()):
        if len(line) >= _SHORTEST_LINE and line != value and not line.startswith("-----"):
            yield line
