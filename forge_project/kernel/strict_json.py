"""JSON as Forge takes it: what can't be kept losslessly is refused with the place of the fault."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from forge_project.kernel.errors import Invalid

MAX_DEPTH = 200
MAX_SAFE_INTEGER = 2**53 - 1
_LONGEST_INTEGER = 17  # digits and sign of the largest; int() is never given more (a 4,300-digit one raises)
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]', re.DOTALL)


class _Faulty:
    """Stands in the parsed tree where a fault was met, until the walk finds its path."""

    __slots__ = ("message", "rule", "within")

    def __init__(self, rule: str, message: str, within: str = "") -> None:
        self.rule, self.message, self.within = rule, message, within


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH, nul: bool = False) -> Any:
    """Parses strict JSON; raises Invalid with facts `path` (JSON pointer) and `rule`.

    Refused: duplicate keys, NaN and infinities (1e400 too), integers beyond ±(2^53-1), lone surrogates,
    nesting over `max_depth`, and U+0000 unless `nul`.
    """
    text = data if isinstance(data, str) else _decode(data)
    if text.count("[") + text.count("{") > max_depth:
        _refuse_depth(text, max_depth)
    hooks = _Hooks()
    try:
        value = json.loads(
            text,
            object_pairs_hook=hooks.pairs,
            parse_constant=hooks.constant,
            parse_int=hooks.integer,
            parse_float=hooks.real,
        )
    except json.JSONDecodeError as error:
        raise Invalid(f"not JSON: {error.msg}", path="", rule="json.syntax", offset=error.pos) from None
    if hooks.fault or "\\u" in text or "\x00" in text:
        refuse_faults(value, nul=nul)
    return value


class _Hooks:
    """What json.loads calls while it parses; `fault` says whether the tree must be walked for a path."""

    def __init__(self) -> None:
        self.fault = False

    def _faulty(self, rule: str, message: str, within: str = "") -> _Faulty:
        self.fault = True
        return _Faulty(rule, message, within)

    def pairs(self, pairs: list[tuple[str, Any]]) -> Any:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return self._faulty("json.duplicate_key", "a key stands twice in one object", twice)

    def constant(self, name: str) -> _Faulty:
        return self._faulty("json.number", f"{name} is not a JSON number")

    def integer(self, digits: str) -> Any:
        if len(digits) > _LONGEST_INTEGER or abs(int(digits)) > MAX_SAFE_INTEGER:
            return self._faulty("json.integer", "integers must lie within ±(2^53-1); send a larger one as text")
        return int(digits)

    def real(self, digits: str) -> Any:
        value = float(digits)
        return value if math.isfinite(value) else self._faulty("json.number", "this number is too large")


def refuse_faults(value: Any, *, nul: bool = False, max_depth: int = MAX_DEPTH) -> None:
    """Walks a JSON value made elsewhere (or parsed above) and raises Invalid at its first fault."""
    for path, depth, node in _walk(value):
        if isinstance(node, _Faulty):
            within = f"/{pointer_token(node.within)}" if node.within else ""
            raise Invalid(node.message, path=path + within, rule=node.rule)
        if depth > max_depth:
            raise Invalid(f"nested deeper than {max_depth}", path=path, rule="json.depth")
        if isinstance(node, str):
            _refuse_text(node, path, nul=nul)
        elif isinstance(node, float) and not math.isfinite(node):
            raise Invalid("not a JSON number", path=path, rule="json.number")
        elif isinstance(node, int) and abs(node) > MAX_SAFE_INTEGER:
            raise Invalid("integers must lie within ±(2^53-1)", path=path, rule="json.integer")
        elif not isinstance(node, dict | list | str | int | float | bool | None):
            raise Invalid(f"{type(node).__name__} is not a JSON value", path=path, rule="json.type")


def _walk(root: Any) -> Iterator[tuple[str, int, Any]]:
    """Every node in document order with its pointer and depth, without recursion."""
    stack: list[tuple[str, int, Any]] = [("", 0, root)]
    while stack:
        path, depth, node = stack.pop()
        inner = isinstance(node, dict | list)
        yield path, depth + inner, node
        if isinstance(node, dict):
            for key in node:
                _refuse_text(key, f"{path}/{pointer_token(str(key))}")
            stack += [(f"{path}/{pointer_token(key)}", depth + 1, node[key]) for key in reversed(node)]
        elif isinstance(node, list):
            stack += [(f"{path}/{at}", depth + 1, node[at]) for at in reversed(range(len(node)))]


def _refuse_text(text: Any, path: str, *, nul: bool = False) -> None:
    if not isinstance(text, str):
        raise Invalid("object keys must be text", path=path, rule="json.type")
    if "\x00" in text and not nul:
        raise Invalid("U+0000 can't be stored in text", path=path, rule="json.nul")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Invalid("a lone surrogate is not text", path=path, rule="json.surrogate") from None


def pointer_token(key: str) -> str:
    """One step of an RFC 6901 pointer, safe to print even where the key itself is faulty."""
    return key.replace("~", "~0").replace("/", "~1").encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0")


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid("not UTF-8", path="", rule="json.encoding", offset=error.start) from None


def _refuse_depth(text: str, max_depth: int) -> None:
    """Counts nesting without parsing: the parser's own limit differs by Python version."""
    stack: list[list[Any]] = []  # [is object, key or index]
    last = ""
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token in "[{":
            stack.append([token == "{", 0])
            if len(stack) > max_depth:
                path = "".join(f"/{pointer_token(str(at))}" for _, at in stack[:-1])
                raise Invalid(f"nested deeper than {max_depth}", path=path, rule="json.depth")
        elif token in "]}" and stack:
            stack.pop()
        elif token == ":" and stack:
            stack[-1][1] = last[1:-1]
        elif token == "," and stack and not stack[-1][0]:
            stack[-1][1] += 1
        last = token
