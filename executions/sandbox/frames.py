"""A frame's bytes as strict JSON: the short way for ordinary frames, the kernel's parser where anything looks odd."""

import json
import math
from typing import Any

from executions.sandbox.limits import JSON_DEPTH
from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid

_ENVELOPE_DEPTH = 4  # a call's input sits this deep in its frame
_MAX_DEPTH = JSON_DEPTH + _ENVELOPE_DEPTH


class Violation(Exception):  # an ending of the guest, not an error of ours
    """The guest broke the protocol; the text names how."""


def decode(body: bytes) -> Any:
    """The JSON value of a frame; Violation where it is not strict."""
    if not body.isascii():
        raise Violation("a frame that is not ASCII")
    text = body.decode("ascii")
    try:
        if "\\u" in text or text.count("{") + text.count("[") > _MAX_DEPTH:
            return strict_json.loads(text, max_depth=_MAX_DEPTH, nul=True)
        # neither surrogates nor depth can be wrong here
        return _decoder.decode(text)
    except (Invalid, ValueError, RecursionError) as error:
        raise Violation(f"a frame that is not strict JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > 17 or not -strict_json.MAX_SAFE_INTEGER <= (value := int(digits)) <= strict_json.MAX_SAFE_INTEGER:
        raise ValueError("an integer beyond 2^53-1")
    return value


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number too large")
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_real, parse_constant=_constant, strict=True
)
