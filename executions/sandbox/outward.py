"""Host to guest: the start and settle frames, and what may cross at all."""

import json
from collections.abc import Sequence

from executions.sandbox.inside import wire
from executions.sandbox.limits import FRAME_BYTES, JSON_DEPTH, Limits
from executions.sandbox.shapes import Answer, Delivered, Json, Settled, Start
from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid, TooLarge

_ROOM = FRAME_BYTES - 4096  # the envelope's own bytes
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def start_frame(start: Start) -> bytes:
    """The one start message; TooLarge if it does not fit a frame, Invalid if it holds what is not JSON."""
    strict_json.refuse_faults(start.source, nul=True)
    payload = {
        "source": start.source,
        "input": start.input,
        "state": start.state,
        "limits": start.limits.wire(),
        "seed": start.seed,
        "now": start.now,
        "catalog": start.catalog,
    }
    text = _text(payload)
    if len(text) > _ROOM:
        raise TooLarge("source, input and state do not fit one frame", limit=_ROOM, bytes=len(text))
    return wire.frame("start", 0, text)


def settle_frame(
    seq: int, results: Sequence[Settled], *, grant: int, now: int, catalog: Sequence[Answer] = ()
) -> tuple[bytes, Delivered]:
    """A settle of every answer and as many results as fit; each undelivered result holds back a credit of `grant`."""
    answers = ",".join(_text(answer.wire()) for answer in catalog)
    parts: list[str] = []
    room = _ROOM - len(answers)
    for result in results:
        part = _result(result)
        room -= len(part) + 1
        if room < 0 and parts:
            break
        parts.append(part)
    delivered = Delivered(
        tuple(result.n for result in results[: len(parts)]), max(0, grant - (len(results) - len(parts)))
    )
    payload = f'{{"results":[{",".join(parts)}],"catalog":[{answers}],"grant":{delivered.grant},"now":{now}}}'
    return wire.frame("settle", seq, payload), delivered


def refuse_result(value: Json, limits: Limits) -> None:
    """Raises Invalid or TooLarge for a tool result that can't cross; asked before its outcome is written."""
    strict_json.refuse_faults(value, nul=True, max_depth=JSON_DEPTH)
    size = len(_text(value))
    if size > limits.result_bytes:
        raise TooLarge("the result is too large", code="RESULT_LIMIT", limit=limits.result_bytes, bytes=size)


def _result(result: Settled) -> str:
    if result.ok:
        return f'{{"n":{result.n},"ok":true,"value":{_text(result.value)}}}'
    return f'{{"n":{result.n},"ok":false,"error":{_text(result.error)}}}'


def _text(value: Json) -> str:
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"this can't cross to the guest: {error}", path="", rule="json.type") from None
