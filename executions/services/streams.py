"""What a script says for others to read: output, log, progress; kept redacted."""

from collections.abc import Iterable

from django.db.models import Max

from executions.models import Execution, Output
from executions.sandbox.shapes import Turn
from executions.services import sealed


def append(execution: Execution, turns: Iterable[Turn]) -> None:
    """Adds what these turns said to the execution's streams; in the caller's transaction."""
    pieces: dict[str, list[str]] = {"output": [], "log": []}
    for turn in turns:
        pieces["output"] += [text + "\n" for text in turn.output]
        pieces["log"] += [f"{level}: {text}\n" for level, text in turn.log]
    for stream, said in pieces.items():
        if said:
            text = sealed.said(execution.ref, "".join(said))
            Output.objects.create(execution=execution, stream=stream, offset=_end(execution, stream), text=text)


def size(turn: Turn) -> int:
    """The bytes of what a turn said."""
    said = [*turn.output, *(text for _, text in turn.log)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in said)


def _end(execution: Execution, stream: str) -> int:
    rows = Output.objects.filter(execution=execution, stream=stream)
    last = rows.filter(offset=rows.aggregate(last=Max("offset"))["last"]).first()
    return 0 if last is None else last.offset + len(last.text.encode())


def progress(turns: Iterable[Turn], ref: str) -> dict[str, object] | None:
    """The latest progress of these turns, as the record shows it."""
    last = next((turn.progress for turn in reversed(list(turns)) if turn.progress is not None), None)
    if last is None:
        return None
    told = {"message": sealed.said(ref, last.message), "completed": last.completed, "total": last.total}
    return {name: value for name, value in told.items() if value is not None}
