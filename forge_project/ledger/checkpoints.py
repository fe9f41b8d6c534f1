"""Signed, chained checkpoints of all heads that moved, kept in the database and sent to the sink."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F

from forge_project.kernel import canonical, clock, failpoints
from forge_project.kernel.errors import Conflict, NotReady
from forge_project.ledger import signing, sinks
from forge_project.ledger.models import Checkpoint, Invocation
from forge_project.ledger.sink import Signed

HEADS = 10_000  # in one checkpoint at most
_MARKS_A_TIME = 500
_FAULT = 200  # characters
Head = tuple[str, int, str]


def take(progress: Callable[[int], object] = lambda _heads: None) -> list[int]:
    """Signs checkpoints until no head is left that moved, and delivers them; their numbers."""
    signer = signing.signer()
    made = []
    while heads := _moved():
        made.append(_write(heads, signer))
        _mark(heads)
        progress(len(heads))
        if len(heads) < HEADS:
            break
    deliver()
    return made


def _moved() -> list[Head]:
    rows = Invocation.objects.filter(head_seq__gt=F("checkpointed_seq")).order_by("pk")
    return list(rows.values_list("pk", "head_seq", "head_hash")[:HEADS])


def _write(heads: Sequence[Head], signer: signing.Signer) -> int:
    """One checkpoint after the last; Conflict if another process was writing one too."""
    last = Checkpoint.objects.order_by("-number").first()
    number, prev = (last.number + 1, last.digest) if last else (1, "")
    return insert(number, prev, heads, signer)


def insert(number: int, prev: str, heads: Sequence[Head], signer: signing.Signer, **more: Any) -> int:
    """Writes the checkpoint `number`, chained to `prev`; Conflict if another process wrote it."""
    said = {"checkpoint": number, "prev": prev, "at": clock.text(clock.now()), "heads": [list(head) for head in heads]}
    payload = canonical.text(said | more)
    signed = Signed(payload=payload, signature=signer.sign(payload), key_id=signer.key_id)
    try:
        with transaction.atomic():
            Checkpoint.objects.create(
                number=number,
                payload=payload,
                digest=signed.digest,
                signature=signed.signature,
                key_id=signed.key_id,
            )
            failpoints.reach("ledger.checkpoint")
    except IntegrityError:
        raise Conflict("another process writes this checkpoint", checkpoint=number) from None
    return number


def _mark(heads: Sequence[Head]) -> None:
    """Notes how far each chain is checkpointed. Lost in a crash, the heads just stand in the next one too."""
    for start in range(0, len(heads), _MARKS_A_TIME):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE ledger_invocation SET checkpointed_seq = %s WHERE id = %s AND checkpointed_seq < %s",
                [(seq, ref, seq) for ref, seq, _ in heads[start : start + _MARKS_A_TIME]],
            )


def deliver() -> int:
    """Sends to the sink what is not there yet; how many. Without a sink nothing is sent.

    NotReady (part `sink`) if it fails: what failed stays noted, and is sent first the next time.
    """
    if sinks.file() is None and sinks.webhook() is None:
        return 0
    count = 0
    for row in Checkpoint.objects.filter(sent=False).order_by("number").iterator(chunk_size=10):
        line = Signed(payload=row.payload, signature=row.signature, key_id=row.key_id)
        try:
            sinks.send(line)
        except NotReady as failure:
            Checkpoint.objects.filter(pk=row.pk).update(fault=failure.message[:_FAULT])
            raise
        failpoints.reach("ledger.sink")
        Checkpoint.objects.filter(pk=row.pk).update(sent=True, fault="")
        count += 1
    return count


def newest() -> int:
    """The number of the database's newest checkpoint; 0 without any."""
    return Checkpoint.objects.order_by("-number").values_list("number", flat=True).first() or 0
