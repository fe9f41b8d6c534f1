"""The one way into the ledger: `with ledger.writing(invocation_id) as page: page.add(event)`.

Every transaction that changes an execution, its calls or its approvals takes this lock first.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import transaction
from uuid6 import uuid7

from forge_project.kernel import canonical, clock, failpoints
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger import statements
from forge_project.ledger.errors import EventConflict, IdentityConflict, InvocationSealed, UnsupportedProtocol
from forge_project.ledger.events import Event, Identity, chain, kind_of
from forge_project.ledger.schema.checks import ID
from forge_project.ledger.schema.envelope import refuse_odd
from forge_project.ledger.schema.lanes import lane_of

PROTOCOL = 1


class Written(NamedTuple):
    """Where an event stands; `created` = by this very write."""

    event_id: str
    seq: int
    created: bool


class Page:
    """The events one transaction adds to one invocation, written once at its end. Made by `writing` only."""

    def __init__(
        self, identity: Identity, head: tuple[int, str], sealed: bool, opened_by: str, follows: str, successors: int = 0
    ) -> None:
        self.identity, self.sealed, self.opened_by, self.follows = identity, sealed, opened_by, follows
        self.successors = successors  # of the first of a family
        self.head_seq, self.head_hash = head
        self._events: list[Event] = []
        self._doubtful: list[str] = []
        self._opened: set[str] = set()
        self._operations: list[tuple[Any, ...]] = []

    @property
    def invocation_id(self) -> str:
        """The invocation whose lock this page holds."""
        return self.identity.invocation_id

    @property
    def family(self) -> str:
        """The first invocation of the family: this one, or the one whose sealing opened this successor."""
        return self.invocation_id.rpartition("~")[0] if self.follows else self.invocation_id

    def add(self, event: Event, *, new: bool = False) -> None:
        """Puts `event` at the page's end; refusals come when the page is written.

        `new`: a conditional UPDATE of this transaction proves the id unused; it is not looked up (and the unique
        constraint still holds).
        """
        if event.event_id is not None and not ID.fullmatch(event.event_id):
            raise Invalid("event ids are 1-200 visible ASCII characters", path="/event_id", rule="ledger.id")
        self._events.append(event)
        if event.event_id is not None and not new:
            self._doubtful.append(event.event_id)

    def opens(self, operation_id: str) -> None:
        """A row of this transaction proves that no such operation was there."""
        self._opened.add(operation_id)

    def insert_operation(self, values: tuple[Any, ...]) -> bool:
        """The operation's row; with the events, if this page opened it: one round trip less. False if it is there."""
        if values[0] not in self._opened:
            self.settle()
            return statements.insert_operation(values)
        self._opened.discard(values[0])
        self._operations.append(values)
        return True

    def settle(self) -> None:
        """Before anything looks at an operation's row: those that wait for the page's end go in now."""
        waiting, self._operations = self._operations, []
        for values in waiting:
            if not statements.insert_operation(values):
                raise Conflict("there is an operation of this id already", operation=values[0])

    def write(self) -> list[Written]:
        """Appends what was added: ids looked up, hashed in order, one INSERT, one UPDATE of the head."""
        known = statements.known_events(self.identity.owner, self._doubtful) if self._doubtful else {}
        rows: list[tuple[Any, ...]] = []
        told = []
        sealed_by = ""
        at = clock.text(clock.now())
        for event in self._events:
            event_id = event.event_id or str(uuid7())
            if stored := known.get(event_id):
                self._same(event, event_id, stored)
                told.append(Written(event_id, stored[3], False))
                continue
            if self.sealed or sealed_by:
                raise InvocationSealed("this invocation is sealed", invocation=self.invocation_id, event_id=event_id)
            rows.append(self._row(event, event_id, at))
            known[event_id] = (self.invocation_id, rows[-1][7], event.source, self.head_seq)
            told.append(Written(event_id, self.head_seq, True))
            sealed_by = at if event.terminal else ""
        self._events, self._doubtful = [], []
        if rows:
            self._insert(rows, sealed_by)
        else:
            self.settle()
        self._opened, self._operations = set(), []
        return told

    def _row(self, event: Event, event_id: str, at: str) -> tuple[Any, ...]:
        payload = event.payload(self.identity, event_id)
        stored = canonical.text(payload)
        if event.source == "forge":  # what others write was looked at when it came in, with the place of each fault
            refuse_odd(payload)
            lane_of(payload)
        seq, prev = self.head_seq + 1, self.head_hash
        digest = chain(prev, self.invocation_id, seq, event_id, event.source, at, stored)
        self.head_seq, self.head_hash = seq, digest
        operation = (event.refs or {}).get("operation_id", "")
        place = (self.invocation_id, seq, event_id, self.identity.owner, kind_of(payload), event.source, operation)
        return (*place, stored, at, prev, digest)

    def _same(self, event: Event, event_id: str, stored: tuple[str, str, str, int]) -> None:
        """An exact repeat is accepted and writes nothing; the writer's clock is no part of what is compared."""
        invocation_id, payload, source, seq = stored
        ts = event.ts if event.ts is not None else json.loads(payload)["ts"]
        again = canonical.text(event.payload(self.identity, event_id, ts))
        if (invocation_id, payload, source) != (self.invocation_id, again, event.source):
            where = seq if invocation_id == self.invocation_id else None
            raise EventConflict("this event id names other content", event_id=event_id, seq=where)

    def _insert(self, rows: list[tuple[Any, ...]], sealed_at: str) -> None:
        failpoints.reach("ledger.before_insert")
        head = (self.head_seq, self.head_hash)
        if not statements.append(self.invocation_id, rows, head, sealed_at, self._operations):
            raise Conflict("the invocation moved on without us", invocation=self.invocation_id)
        self.sealed = bool(sealed_at)
        failpoints.reach("ledger.after_head")


@contextmanager
def writing(
    invocation_id: str, *, opening: Identity | None = None, wait: bool = True, opened_by: str = "forge"
) -> Iterator[Page]:
    """One transaction that holds the invocation's lock; writes the page at its end, or nothing at all.

    `opening` makes the invocation if it is new. Without it the page is that of the family's latest: what is sealed
    and was gone on from is written no more. `wait=False`: Conflict at once if another holds it (PostgreSQL).
    """
    with transaction.atomic():
        page = _opened(opening, opened_by) if opening is not None else _latest(invocation_id, wait=wait)
        if opening is not None and invocation_id != page.invocation_id:
            raise IdentityConflict("this invocation belongs to another session, run, turn or owner")
        yield page
        page.write()


@contextmanager
def writing_all(identities: Iterable[Identity], *, opened_by: str) -> Iterator[dict[str, Page]]:
    """One transaction over several invocations, each opened if it is new, locked in the order of their ids."""
    with transaction.atomic():
        ordered = sorted(identities, key=lambda identity: identity.invocation_id)
        pages = {identity.invocation_id: _opened(identity, opened_by) for identity in ordered}
        yield pages
        for page in pages.values():
            page.write()


@contextmanager
def writing_after(invocation_id: str) -> Iterator[Page]:
    """As `writing`, for what must be recorded even after sealing: then on the successor `<id>~<k>`, opened if need be.

    The lock of the family is the first invocation's, which is taken too.
    """
    with transaction.atomic():
        page = locked(invocation_id, wait=True)
        while page.sealed:
            page = _next(page)
        yield page
        page.write()


def _next(sealed: Page) -> Page:
    """The page of the next of the family; its chain goes on from the sealed head."""
    family = sealed.family
    number = int(sealed.invocation_id.rpartition("~")[2]) + 1 if sealed.follows else 1
    ours = sealed.identity
    ref = f"{family}~{number}"
    row = (ref, ours.session_id, ours.run_id, ours.turn_id, ours.owner, sealed.head_hash, PROTOCOL)
    if statements.open_invocation((*row, sealed.opened_by, sealed.invocation_id)):
        failpoints.reach("ledger.successor")
        statements.count_successor(family, number)
    return locked(ref, wait=True)


def _latest(invocation_id: str, *, wait: bool) -> Page:
    page = locked(invocation_id, wait=wait)
    return locked(f"{invocation_id}~{page.successors}", wait=True) if page.sealed and page.successors else page


def _opened(identity: Identity, opened_by: str) -> Page:
    for name in ("invocation_id", "session_id", "run_id", "turn_id", "owner"):
        if not ID.fullmatch(getattr(identity, name)):
            raise Invalid("ids are 1-200 visible ASCII characters", path=f"/{name}", rule="ledger.id")
    ours = (identity.invocation_id, identity.session_id, identity.run_id, identity.turn_id, identity.owner)
    if statements.open_invocation((*ours, identity.genesis(), PROTOCOL, opened_by, "")):
        return Page(identity, (0, identity.genesis()), False, opened_by, "")  # whoever inserts a row has its lock
    page = locked(identity.invocation_id, wait=True)
    if page.identity != identity:
        raise IdentityConflict(
            "this invocation belongs to another session, run, turn or owner", invocation=identity.invocation_id
        )
    return page


def locked(invocation_id: str, *, wait: bool) -> Page:
    """The page of an invocation, locked in the transaction that is open; who calls it writes the page."""
    found = statements.lock_invocation(invocation_id, wait=wait)
    if found is None and not wait:
        raise Conflict("another transaction holds this invocation", invocation=invocation_id)
    if found is None:
        raise Missing("no such invocation", invocation=invocation_id)
    session, run, turn, owner, seq, head, sealed_at, protocol, opened_by, follows, successors = found
    if protocol > PROTOCOL:
        raise UnsupportedProtocol(f"written by protocol {protocol}; this Forge reads {PROTOCOL}", path="")
    identity = Identity(invocation_id=invocation_id, session_id=session, run_id=run, turn_id=turn, owner=owner)
    return Page(identity, (seq, head), bool(sealed_at), opened_by, follows, successors)
