"""The one way into the ledger: `with ledger.writing(invocation_id) as page: page.add(event)`.

Every transaction that changes an execution, its calls or its approvals takes this lock first.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from uuid6 import uuid7

from forge_project.kernel import canonical, clock, failpoints
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger import statements
from forge_project.ledger.errors import EventConflict, IdentityConflict, InvocationSealed, UnsupportedProtocol
from forge_project.ledger.events import Event, Identity, chain, kind_of

PROTOCOL = 1
_ID = re.compile(r"[\x21-\x7e]{1,200}")


class Page:
    """The events one transaction adds to one invocation, written once at its end. Made by `writing` only."""

    def __init__(self, identity: Identity, seq: int, head: str, sealed: bool) -> None:
        self.identity, self.head_seq, self.head_hash, self.sealed = identity, seq, head, sealed
        self._events: list[Event] = []
        self._doubtful: list[str] = []

    @property
    def invocation_id(self) -> str:
        """The invocation whose lock this page holds."""
        return self.identity.invocation_id

    def add(self, event: Event, *, new: bool = False) -> None:
        """Puts `event` at the page's end; refusals come when the page is written.

        `new`: a conditional UPDATE of this transaction proves the id unused; it is not looked up (and the unique
        constraint still holds).
        """
        if event.event_id is not None and not _ID.fullmatch(event.event_id):
            raise Invalid("event ids are 1-200 visible ASCII characters", path="/event_id", rule="ledger.id")
        self._events.append(event)
        if event.event_id is not None and not new:
            self._doubtful.append(event.event_id)

    def write(self) -> None:
        """Appends what was added: ids looked up, hashed in order, one INSERT, one UPDATE of the head."""
        known = statements.known_events(self.identity.owner, self._doubtful) if self._doubtful else {}
        rows: list[tuple[Any, ...]] = []
        sealed_by = ""
        at = clock.text(clock.now())
        for event in self._events:
            event_id = event.event_id or str(uuid7())
            if stored := known.get(event_id):
                self._same(event, event_id, stored)
                continue
            if self.sealed or sealed_by:
                raise InvocationSealed("this invocation is sealed", invocation=self.invocation_id)
            rows.append(self._row(event, event_id, at))
            known[event_id] = (self.invocation_id, rows[-1][7], event.source)
            sealed_by = at if event.terminal else ""
        self._events, self._doubtful = [], []
        if rows:
            self._insert(rows, sealed_by)

    def _row(self, event: Event, event_id: str, at: str) -> tuple[Any, ...]:
        payload = event.payload(self.identity, event_id)
        stored = canonical.text(payload)
        seq, prev = self.head_seq + 1, self.head_hash
        digest = chain(prev, self.invocation_id, seq, event_id, event.source, at, stored)
        self.head_seq, self.head_hash = seq, digest
        operation = (event.refs or {}).get("operation_id", "")
        place = (self.invocation_id, seq, event_id, self.identity.owner, kind_of(payload), event.source, operation)
        return (*place, stored, at, prev, digest)

    def _same(self, event: Event, event_id: str, stored: tuple[str, str, str]) -> None:
        """An exact repeat is accepted and writes nothing; the writer's clock is no part of what is compared."""
        invocation_id, payload, source = stored
        ts = event.ts if event.ts is not None else json.loads(payload)["ts"]
        again = canonical.text(event.payload(self.identity, event_id, ts))
        if (invocation_id, payload, source) != (self.invocation_id, again, event.source):
            raise EventConflict("this event id names other content", event_id=event_id)

    def _insert(self, rows: list[tuple[Any, ...]], sealed_at: str) -> None:
        failpoints.reach("ledger.before_insert")
        statements.insert_events(rows)
        failpoints.reach("ledger.after_insert")
        was = rows[0][1] - 1
        if not statements.move_head(self.invocation_id, was, self.head_seq, self.head_hash, sealed_at):
            raise Conflict("the invocation moved on without us", invocation=self.invocation_id)
        self.sealed = bool(sealed_at)
        failpoints.reach("ledger.after_head")


@contextmanager
def writing(invocation_id: str, *, opening: Identity | None = None, wait: bool = True) -> Iterator[Page]:
    """One transaction that holds the invocation's lock; writes the page at its end, or nothing at all.

    `opening` makes the invocation if it is new. `wait=False`: Conflict at once if another holds it (PostgreSQL).
    """
    with transaction.atomic():
        if opening is not None:
            _open(opening)
        page = _locked(invocation_id, wait=wait)
        if opening is not None and opening != page.identity:
            raise IdentityConflict("this invocation belongs to another session, run, turn or owner")
        yield page
        page.write()


def _open(identity: Identity) -> None:
    for name in ("invocation_id", "session_id", "run_id", "turn_id", "owner"):
        if not _ID.fullmatch(getattr(identity, name)):
            raise Invalid("ids are 1-200 visible ASCII characters", path=f"/{name}", rule="ledger.id")
    ours = (identity.invocation_id, identity.session_id, identity.run_id, identity.turn_id, identity.owner)
    statements.open_invocation((*ours, identity.genesis(), PROTOCOL))


def _locked(invocation_id: str, *, wait: bool) -> Page:
    found = statements.lock_invocation(invocation_id, wait=wait)
    if found is None and not wait:
        raise Conflict("another transaction holds this invocation", invocation=invocation_id)
    if found is None:
        raise Missing("no such invocation", invocation=invocation_id)
    session, run, turn, owner, seq, head, sealed_at, protocol = found
    if protocol > PROTOCOL:
        raise UnsupportedProtocol(f"written by protocol {protocol}; this Forge reads {PROTOCOL}", path="")
    identity = Identity(invocation_id=invocation_id, session_id=session, run_id=run, turn_id=turn, owner=owner)
    return Page(identity, seq, head, bool(sealed_at))
