"""A database restored from a backup is older than its sink: it does not know what was done since."""

from collections.abc import Iterator

from forge_project.ledger import signing, sink, sinks
from forge_project.ledger.checkpoints import HEADS, Head, deliver, insert, newest
from forge_project.ledger.models import Invocation
from forge_project.ledger.sink import Signed

_HEADS_A_TIME = 500
_level: set[tuple[str, int, int]] = set()  # sinks (path, size, time) that the database is level with


def behind() -> bool:
    """Whether the sink has a checkpoint that the database lacks. One stat, unless the sink has grown."""
    path = sinks.file()
    if path is None:
        return False
    try:
        seen = path.stat()
    except OSError:
        return False  # no sink yet, or none that can be asked
    key = (str(path), seen.st_size, seen.st_mtime_ns)
    if key in _level:
        return False
    try:
        there = sink.last(path)
    except OSError:
        return False
    if there is not None and there.body()["checkpoint"] > newest():
        return True
    _level.clear()
    _level.add(key)
    return False


def rolled_back() -> Iterator[tuple[str, int]]:
    """The invocations that had come further than the database knows, and how far: they, too, may have been finished."""
    path = sinks.file()
    if path is None:
        return
    ours = newest()
    for line in sink.read(path):
        if not isinstance(line, Signed) or not signing.holds(line.payload, line.signature, line.key_id):
            continue
        if (body := line.body())["checkpoint"] > ours:
            yield from _shorter([(str(ref), int(seq), str(head)) for ref, seq, head in body["heads"]])


def _shorter(heads: list[Head]) -> Iterator[tuple[str, int]]:
    for start in range(0, len(heads), _HEADS_A_TIME):
        part = heads[start : start + _HEADS_A_TIME]
        there = dict(Invocation.objects.filter(pk__in=[ref for ref, _, _ in part]).values_list("pk", "head_seq"))
        yield from ((ref, seq) for ref, seq, _ in part if there.get(ref, 0) < seq)


def restore() -> int | None:
    """Goes on after the sink's newest checkpoint, saying from which one the database was restored; None if level.

    What was checkpointed in between is lost, and said to be.
    """
    path = sinks.file()
    there = sink.last(path) if path else None
    ours = newest()
    if there is None or (number := there.body()["checkpoint"]) <= ours:
        return None
    heads = list(Invocation.objects.order_by("pk").values_list("pk", "head_seq", "head_hash")[:HEADS])
    made = insert(number + 1, there.digest, heads, signing.signer(), restored={"from": ours, "to": number})
    deliver()
    return made
