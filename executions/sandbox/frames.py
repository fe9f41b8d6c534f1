"""A frame's bytes as strict JSON, with the rules of kernel.strict_json at the speed of the C parser.

A guest may send megabytes a turn and the host parses under the GIL: no step here runs Python code per value, except
where a number looks odd. tests/unit/sandbox/test_frames.py holds this equal to kernel.strict_json.
"""

import json
import math
import re
from typing import Any

from executions.sandbox.limits import JSON_DEPTH
from forge_project.kernel.errors import Invalid
from forge_project.kernel.strict_json import MAX_SAFE_INTEGER, refuse_faults

MAX_DEPTH = JSON_DEPTH + 4  # a call's input sits four levels deep in its frame
_ODD_NUMBER = re.compile(r"[0-9]{16}|[eE]\+?[0-9]{3}")


class Violation(Exception):  # an ending of the guest, not an error of ours
    """The guest broke the protocol; the text names how."""


def decode(body: bytes) -> Any:
    """The JSON value of a frame; Violation where it is not strict."""
    if not body.isascii():
        raise Violation("a frame that is not ASCII")
    text = body.decode("ascii")
    try:
        value = (_checking if _ODD_NUMBER.search(text) else _plain).decode(text)
        if "\\u" in text:
            _encode(value).encode()  # refuses a lone surrogate
        if "\\u0000" in text:
            refuse_faults(value, nul=True, max_depth=MAX_DEPTH)  # fine in text, not in a key
    except (ValueError, RecursionError, Invalid) as error:
        raise Violation(f"a frame that is not strict JSON: {type(error).__name__}") from None
    if text.count("{") + text.count("[") > MAX_DEPTH and deeper_than(value, MAX_DEPTH):
        raise Violation("a frame nested too deeply")
    return value


def deeper_than(value: Any, most: int) -> bool:
    """Whether lists and objects nest over `most` levels; level by level, so without recursion."""
    level = [value] if isinstance(value, list | dict) else []
    while level and most:
        most -= 1
        level = [
            inner
            for node in level
            for inner in (node.values() if type(node) is dict else node)
            if type(inner) is dict or type(inner) is list
        ]
    return bool(level)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(value := int(digits)) > MAX_SAFE_INTEGER:
        raise ValueError("an integer beyond 2^53-1")
    return value


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number too large")
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
_plain = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)
_checking = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer, parse_float=_real)
