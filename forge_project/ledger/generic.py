"""The generic writer: what agents and imports may append, and only to invocations they opened themselves."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from uuid6 import uuid7

from forge_project.kernel import canonical
from forge_project.kernel.errors import ForgeError, Invalid, TooLarge
from forge_project.ledger import operations, statements, streams
from forge_project.ledger.errors import IdentityConflict, OperationConflict, ReservedFact, ReservedInvocation
from forge_project.ledger.events import TERMINAL, Event, Identity, Source
from forge_project.ledger.models import OperationState
from forge_project.ledger.schema.checks import fault, mapping
from forge_project.ledger.schema.envelope import refuse_odd
from forge_project.ledger.schema.lanes import Lane, lane_of, refuse_reserved
from forge_project.ledger.writing import Page, Written, writing_all

MAX_EVENT = 1024 * 1024  # bytes of its canonical text
MAX_BATCH = 1000
_LONGEST_NAME = 150
_RESERVED = re.compile(r"forge:.*|.*~.*|exec_[0-9a-f]{32}")
_RESERVED_ID = re.compile(r"(exec|toolop)_[0-9a-f]{32}.*")  # events are unique by owner: one of ours could not come
_OURS = {"event_id", "session_id", "invocation_id", "run_id", "turn_id"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whose invocations these are, and the session and run they must be in (import: any)."""

    owner: str
    source: Source
    session_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One event that may be written, as far as it can be told without the ledger; `path` is where it stood."""

    identity: Identity
    event: Event
    lane: Lane
    path: str


def parse(body: Any, place: Place, path: str = "") -> Given:
    """Reads one event strictly; raises Invalid, IdentityConflict, ReservedFact, ReservedInvocation, OperationConflict.

    `event_id` and `ts` may be left out (made here), session_id and run_id too where the address says them.
    """
    mapping(body, path)
    payload = {"partial": False, "ts": 0, "event_id": str(uuid7())} | body
    for name, said in (("session_id", place.session_id), ("run_id", place.run_id)):
        if said is not None and payload.setdefault(name, said) != said:
            raise IdentityConflict(f"the address says another {name}", path=f"{path}/{name}")
    refuse_odd(payload, path)
    lane = lane_of(payload, path)
    refuse_reserved(lane, payload, path)
    _refuse_reserved_invocation(payload["invocation_id"], path)
    if _RESERVED_ID.fullmatch(payload["event_id"]):
        raise ReservedFact("events of this name are Forge's own", path=f"{path}/event_id")
    _refuse_partial(payload, path)
    if lane == Lane.FUNCTION_CALL and (not 0 < len(payload["content"]["name"]) <= _LONGEST_NAME):
        raise fault("a tool's name has 1-150 characters", f"{path}/content/name", "name")
    _refuse_lossy(payload, path)
    names = ("invocation_id", "session_id", "run_id", "turn_id")
    identity = Identity(owner=place.owner, **{name: payload[name] for name in names})
    rest = {name: value for name, value in payload.items() if name not in _OURS and name != "ts"}
    event = Event(event_id=payload["event_id"], ts=body.get("ts"), source=place.source, **rest)
    return Given(identity=identity, event=event, lane=lane, path=path)


def _refuse_reserved_invocation(invocation_id: str, path: str) -> None:
    if _RESERVED.fullmatch(invocation_id):
        raise ReservedInvocation("this invocation is Forge's own", path=f"{path}/invocation_id")


def own(identity: Identity) -> Identity:
    """The identity, if a generic writer may write there at all."""
    _refuse_reserved_invocation(identity.invocation_id, "")
    return identity


def _refuse_partial(payload: dict[str, Any], path: str) -> None:
    if not payload["partial"]:
        return
    if payload.get("status") in TERMINAL or (payload.get("actions") or {}).get("end_invocation") is True:
        raise fault("what ends an invocation is not partial", f"{path}/partial", "partial")
    if streams.mergeable(payload):
        raise fault("live text goes to partials/, in numbered chunks", f"{path}/partial", "partial")


def _refuse_lossy(payload: dict[str, Any], path: str) -> None:
    try:
        stored = canonical.text(payload)
    except Invalid as error:
        error.facts["path"] = path + error.facts.get("path", "")
        raise
    if len(stored.encode()) > MAX_EVENT:
        raise TooLarge(f"an event may have {MAX_EVENT} bytes", limit=MAX_EVENT, path=path)
    if json.loads(stored) != payload:
        raise fault("it can't be stored without loss", path, "lossy")


def append(items: Sequence[Given]) -> list[Written]:
    """All or nothing, in order; exact repeats are accepted. Refusals name the item's path."""
    identities: dict[str, Identity] = {}
    for item in items:
        if identities.setdefault(item.identity.invocation_id, item.identity) != item.identity:
            raise IdentityConflict("one invocation has one session, run and turn", path=item.path)
    if not items:
        return []
    places = {item.event.event_id: item.path for item in items}
    try:
        with writing_all(identities.values(), opened_by=items[0].event.source) as pages:
            return _append(items, pages)
    except ForgeError as error:
        if (event_id := error.facts.get("event_id")) in places:
            error.facts["path"] = places[event_id]
        elif "path" not in error.facts and (invocation := error.facts.get("invocation")):
            error.facts["path"] = next(item.path for item in items if item.identity.invocation_id == invocation)
        raise


def _append(items: Sequence[Given], pages: dict[str, Page]) -> list[Written]:
    for page in pages.values():
        if page.opened_by == "forge":
            raise ReservedInvocation("Forge opened this invocation for itself", invocation=page.invocation_id)
    for item in items:
        pages[item.identity.invocation_id].add(item.event)
    told = {ref: iter(page.write()) for ref, page in pages.items()}
    written = [next(told[item.identity.invocation_id]) for item in items]
    for item, one in zip(items, written, strict=True):
        if one.created:
            _project(pages[item.identity.invocation_id], item)
    for page in pages.values():
        if page.sealed:
            streams.drop(page)
    return written


def _project(page: Page, item: Given) -> None:
    """What the event means for calls and live streams."""
    if item.lane == Lane.FUNCTION_CALL:
        _call(page, item)
    elif item.lane == Lane.FUNCTION_RESPONSE:
        _answer(page, item)
    if not item.event.partial:
        streams.end(page, item.event)


def _call(page: Page, item: Given) -> None:
    content = item.event.content or {}
    digest = settings.FORGE_FINGERPRINTS.of({"tool": content["name"], "args": content["args"]})
    operation = operations.operation_id(page.invocation_id, content["id"])
    row = (operation, page.invocation_id, content["id"], _column(content["name"]), digest, "", 0)
    if not statements.insert_operation((*row, OperationState.CALLED.value)):
        raise OperationConflict("this call is there already", scan="duplicate_call", path=f"{item.path}/content/id")


def _answer(page: Page, item: Given) -> None:
    content = item.event.content or {}
    place = f"{item.path}/content/id"
    operation = operations.operation_id(page.invocation_id, content["id"])
    found = statements.operation(operation)
    if found is None:
        raise OperationConflict("no call precedes this response", scan="orphan_response", path=place)
    state, version, tool = found[3], found[5], found[6]
    if state != OperationState.CALLED:
        raise OperationConflict("this call has its response", scan="duplicate_response", path=place)
    if tool != _column(content["name"]):
        raise OperationConflict("the call names another tool", scan="identity_conflict", path=f"{item.path}/content")
    statements.move_operation(operation, (state, version), OperationState.ANSWERED.value, 0)


def _column(name: str) -> str:
    return name.replace("\0", "\\0")
