"""A stream of an execution by byte offsets, whole characters only."""

from dataclasses import dataclass

from artifacts import selectors as artifacts
from executions.models import Execution, Output
from executions.states import TERMINAL

STREAMS = ("output", "log", "stdout", "stderr", "report")
DEFAULT_BYTES, MAX_BYTES = 16_384, 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """UTF-8 bytes `offset` to `next_offset` of a stream; `eof`: nothing follows, ever."""

    chunk: str
    offset: int
    next_offset: int
    eof: bool
    artifact_ref: str = ""


def read(execution: Execution, stream: str, offset: int, limit: int) -> Piece:
    """Up to `limit` bytes from the character at `offset`; at least one character where there is one.

    Give it the execution as read before: then nothing can be missing from what an ended one said.
    """
    rows = Output.objects.filter(execution=execution, stream=stream)
    last = rows.order_by("-offset").first()
    end = last.offset + len(last.text.encode()) if last else 0
    offset = min(offset, end)
    first = rows.filter(offset__lte=offset).order_by("-offset").first()
    start = first.offset if first else 0
    held = rows.filter(offset__gte=start, offset__lt=min(offset + limit, end)).order_by("offset")
    data = "".join(held.values_list("text", flat=True)).encode()
    low = _whole(data, offset - start)
    high = _whole(data, min(offset - start + limit, len(data)))
    if high <= low < len(data):
        high = _after(data, low)
    kept = artifacts.of_execution(execution.pk, stream)
    return Piece(
        chunk=data[low:high].decode(),
        offset=start + low,
        next_offset=start + max(low, high),
        eof=execution.status in TERMINAL and start + max(low, high) >= end,
        artifact_ref=kept[-1].ref if kept else "",
    )


def _inside(data: bytes, at: int) -> bool:
    """Whether `at` is within a character: its byte is a continuation (10xxxxxx)."""
    return at < len(data) and data[at] & 0xC0 == 0x80


def _whole(data: bytes, at: int) -> int:
    """The beginning of the character at `at`."""
    while _inside(data, at):
        at -= 1
    return at


def _after(data: bytes, at: int) -> int:
    """The end of the character that begins at `at`."""
    at += 1
    while _inside(data, at):
        at += 1
    return at
