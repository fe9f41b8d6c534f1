"""What a script says for others to read: output, log, progress; kept redacted."""

from collections.abc import Iterable

from executions.models import Execution, Output
from executions.sandbox.shapes import Turn
from executions.services import sealed
from forge_project.kernel.redaction.blocks import left_open, rest_of_key

_HIDDEN = "[SECRET:key]\n"


def append(execution: Execution, turns: Iterable[Turn]) -> None:
    """Adds what these turns said to the execution's streams; in the caller's transaction."""
    pieces: dict[str, list[str]] = {"output": [], "log": []}
    for turn in turns:
        pieces["output"] += [text + "\n" for text in turn.output]
        pieces["log"] += [f"{level}: {text}\n" for level, text in turn.log]
    for stream, said in pieces.items():
        if said:
            _add(execution, stream, "".join(said))


def _add(execution: Execution, stream: str, clear: str) -> None:
    """One more piece. A key that the piece before it left open is masked on to its end."""
    last = Output.objects.filter(execution=execution, stream=stream).order_by("-offset").first()
    inside = last is not None and last.in_key
    rest = rest_of_key(clear) if inside else 0
    text = (_HIDDEN if rest else "") + sealed.said(execution.ref, clear[rest:])
    offset = 0 if last is None else last.offset + len(last.text.encode())
    in_key = left_open(clear, inside=inside)
    Output.objects.create(execution=execution, stream=stream, offset=offset, text=text, in_key=in_key)


def size(turn: Turn) -> int:
    """The bytes of what a turn said."""
    said = [*turn.output, *(text for _, text in turn.log)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in said)


def progress(turns: Iterable[Turn], ref: str) -> dict[str, object] | None:
    """The latest progress of these turns, as the record shows it."""
    last = next((turn.progress for turn in reversed(list(turns)) if turn.progress is not None), None)
    if last is None:
        return None
    told = {"message": sealed.said(ref, last.message), "completed": last.completed, "total": last.total}
    return {name: value for name, value in told.items() if value is not None}
