"""Live text before its final event: numbered chunks, appended only, gone when the final event is stored."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from forge_project.kernel import canonical, clock, failpoints
from forge_project.kernel.errors import Conflict, Invalid
from forge_project.ledger import statements
from forge_project.ledger.errors import InvocationSealed, ReservedInvocation
from forge_project.ledger.events import Event, Identity
from forge_project.ledger.models import Chunk, Stream
from forge_project.ledger.models import Event as Row
from forge_project.ledger.writing import Page, writing

KINDS = ("text", "thinking", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A stream: what it will become, told by kind and the id its final event will carry."""

    identity: Identity
    kind: str
    ref: str  # provider_event_id, or tool_call_id for `tool`
    role: str
    author: str
    branch: str | None = None

    def key(self) -> str:
        """The stream's key, derived: a retry names the same stream."""
        return _key(self.kind, self.ref, self.identity.invocation_id, self.branch, self.role, self.author)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How many chunks the stream has now; `ignored` = its final event was stored before."""

    chunks: int
    ignored: bool = False


class ChunkConflict(Conflict):
    """This chunk number has another text already."""

    code = "EVENT_CONFLICT"


class ChunkGap(Conflict):
    """Chunks come in order; `facts["expected"]` is the next one."""


def _key(kind: str, ref: str, invocation_id: str, branch: str | None, role: str, author: str) -> str:
    return canonical.sha256(canonical.canonical([kind, ref, invocation_id, branch, role, author]))


def mergeable(payload: Mapping[str, Any]) -> bool:
    """Whether a partial event is live text: to be sent in chunks, not to be stored for good."""
    if not payload.get("partial") or "status" in payload or "actions" in payload:
        return False
    content, refs = payload.get("content"), set(payload.get("refs") or {})
    if content is None:
        return refs == {"tool_call_id"}
    plain = content["kind"] == "text" and "attachments" not in content
    thought = content["kind"] == "thinking" and "signature" not in content
    return (plain or thought) and refs == {"provider_event_id"}


def append(live: Live, chunks: Sequence[tuple[int, str]]) -> Kept:
    """Adds chunks numbered from 1; those that are there are not written again. Raises ChunkGap, ChunkConflict."""
    with writing(live.identity.invocation_id, opening=live.identity, opened_by="agent") as page:
        if page.opened_by == "forge":
            raise ReservedInvocation("Forge opened this invocation for itself", invocation=page.invocation_id)
        if page.sealed:
            raise InvocationSealed("this invocation is sealed", invocation=page.invocation_id)
        row = Stream.objects.filter(pk=live.key()).first()
        if row is not None and row.ended:
            return Kept(chunks=row.chunks, ignored=True)
        if row is None:
            row = Stream(key=live.key(), invocation_id=page.invocation_id, payload=_payload(live))
            row.anchor = _anchor(page)
            row.save(force_insert=True)
        new = _new(row, chunks)
        failpoints.reach("ledger.chunk")
        Chunk.objects.bulk_create([Chunk(stream=row, chunk_no=no, text=json.dumps(text)) for no, text in new])
        Stream.objects.filter(pk=row.pk).update(chunks=F("chunks") + len(new))
        return Kept(chunks=row.chunks + len(new))


def _new(row: Stream, chunks: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    known = dict(
        Chunk.objects.filter(stream=row, chunk_no__in=[no for no, _ in chunks]).values_list("chunk_no", "text")
    )
    new: list[tuple[int, str]] = []
    for no, text in chunks:
        if no in known:
            if known[no] != json.dumps(text):
                raise ChunkConflict("this chunk has another text", chunk_no=no)
            continue
        if no != (expected := row.chunks + len(new) + 1):
            raise ChunkGap("a chunk is missing before this one", chunk_no=no, expected=expected)
        known[no] = json.dumps(text)
        new.append((no, text))
    return new


def _payload(live: Live) -> str:
    """The event as far as it is known; `ts` is when the stream began."""
    ref = "tool_call_id" if live.kind == "tool" else "provider_event_id"
    content = {} if live.kind == "tool" else {"content": {"kind": live.kind, "text": ""}}
    event = Event(role=live.role, author=live.author, branch=live.branch, partial=True, refs={ref: live.ref}, **content)  # type: ignore[arg-type]  # checked at the edge
    return canonical.text(event.payload(live.identity, f"partial:{live.key()}", clock.millis(clock.now())))


def _anchor(page: Page) -> str:
    found = Row.objects.filter(invocation_id=page.invocation_id, seq=page.head_seq).values_list("event_id", flat=True)
    return found.first() or ""


def end(page: Page, event: Event) -> None:
    """The final event of a stream is stored: its chunks go, and later ones are ignored."""
    content, refs = event.content or {}, event.refs or {}
    match content.get("kind"):
        case "text" | "thinking" as kind if "provider_event_id" in refs:
            ref = refs["provider_event_id"]
        case "function_response":
            kind, ref = "tool", content["id"]
        case _:
            return
    if event.author == "user":
        return
    key = _key(kind, ref, page.invocation_id, event.branch, event.role, event.author)
    Chunk.objects.filter(stream=key).delete()
    Stream.objects.update_or_create(
        key=key, defaults={"ended": True}, create_defaults={"ended": True, "invocation_id": page.invocation_id}
    )
    failpoints.reach("ledger.stream_end")


def drop(page: Page) -> None:
    """The invocation is sealed: nothing live is left of it."""
    if statements.has_streams(page.invocation_id):
        Stream.objects.filter(invocation_id=page.invocation_id).delete()


def live(rows: Sequence[Stream]) -> Iterator[tuple[Stream, dict[str, Any]]]:
    """Each stream with its event so far; one that can't be read is left out (it is presentation, not record)."""
    texts: dict[str, list[str]] = {row.pk: [] for row in rows}
    pieces = Chunk.objects.filter(stream__in=list(texts)).order_by("stream", "chunk_no")
    for key, text in pieces.values_list("stream_id", "text").iterator(chunk_size=500):
        texts[key].append(text)
    for row in rows:
        try:
            payload = dict(json.loads(row.payload))
            text = "".join(json.loads(piece) for piece in texts[row.pk])
            if payload["invocation_id"] != row.invocation_id:
                continue
        except (ValueError, TypeError, KeyError):
            continue
        content = payload.get("content") or {"kind": "text"}
        yield row, payload | {"content": content | {"text": text}}


def check(kind: str) -> None:
    """Invalid for a stream of another kind."""
    if kind not in KINDS:
        raise Invalid(f"a stream is one of {', '.join(KINDS)}", path="/stream/kind", rule="stream.kind")
