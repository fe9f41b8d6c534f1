"""Pages of events across invocations, in the order of their transactions, so that no reader misses one.

A serial id is not commit order: on PostgreSQL pages go by (xid, id) and stop before the oldest transaction still
running anywhere in the server; on SQLite there is one writer at a time and the id will do.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db import connection

from forge_project.ledger import evidence, streams
from forge_project.ledger.models import Event, Stream

_COLUMNS = "id, invocation_id, seq, event_id, kind, source, operation_id, payload, committed_at, prev_hash, hash"
_START = (0, 0)
_CORRUPT = "LEDGER_CORRUPT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose events, of which session, and (where given) of which run and invocation."""

    owner: str
    session_id: str
    run_id: str | None = None
    invocation_id: str | None = None


@dataclass(slots=True)
class Row:
    """One event with its place in commit order."""

    xid: int
    id: int
    invocation_id: str
    seq: int
    event_id: str
    kind: str
    source: str
    operation_id: str
    payload: str
    committed_at: str
    prev_hash: str
    hash: str

    @property
    def position(self) -> tuple[int, int]:
        """Where a reader goes on after this event."""
        return (self.xid, self.id)


def page(scope: Scope, after: tuple[int, int] = _START, limit: int = 50) -> list[Row]:
    """At most `limit` events after that position, committed and with nothing still to come before them."""
    with connection.cursor() as cursor:
        cursor.execute(*_statement(scope, after, limit))
        return [Row(*row) for row in cursor.fetchall()]


def _statement(scope: Scope, after: tuple[int, int], limit: int) -> tuple[str, list[Any]]:
    wanted = {"owner": scope.owner, "session_id": scope.session_id, "run_id": scope.run_id, "id": scope.invocation_id}
    where = [f"i.{name} = %s" for name, value in wanted.items() if value is not None]
    values: list[Any] = [value for value in wanted.values() if value is not None]
    columns = ", ".join(f"e.{name}" for name in _COLUMNS.split(", "))
    if connection.vendor == "postgresql":
        columns, order = f"e.xid::text::bigint, {columns}", "e.xid, e.id"
        where += ["(e.xid, e.id) > (%s::text::xid8, %s)", "e.xid < pg_snapshot_xmin(pg_current_snapshot())"]
        values += [str(after[0]), after[1]]
    else:
        columns, order = f"0, {columns}", "e.id"
        where.append("e.id > %s")
        values.append(after[1])
    statement = (
        f"SELECT {columns} FROM ledger_invocation i JOIN ledger_event e ON e.invocation_id = i.id "  # noqa: S608
        f"WHERE {' AND '.join(where)} ORDER BY {order} LIMIT %s"
    )
    return statement, [*values, limit]


def shown(row: Row) -> dict[str, Any]:
    """An event as its readers get it; one whose row was changed says so and shows nothing else."""
    payload = evidence.read(row)
    verified = evidence.holds(row, payload)
    told = evidence.shown(row, payload if verified else None, verified=verified)
    return told | {"invocation_id": row.invocation_id} | ({} if verified else {"code": _CORRUPT})


def merged(scope: Scope, rows: list[Row], *, first: bool, last: bool) -> list[dict[str, Any]]:
    """The page with live streams at their anchors: unanchored ones first, those whose anchor is gone last."""
    told: list[dict[str, Any]] = []
    at_anchor, orphans = _live(scope, [row.event_id for row in rows])
    told += at_anchor.pop("", []) if first else []
    for row in rows:
        told.append(shown(row))
        told += at_anchor.pop(row.event_id, [])
    return told + (orphans if last else [])


def _live(scope: Scope, event_ids: list[str]) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """The scope's live streams by anchor, and those whose anchor is nowhere; each in the order of ts, then id."""
    wanted = {"invocation__owner": scope.owner, "invocation__session_id": scope.session_id, "ended": False}
    wanted |= {"invocation__run_id": scope.run_id} if scope.run_id is not None else {}
    wanted |= {"invocation_id": scope.invocation_id} if scope.invocation_id is not None else {}
    found = list(streams.live(list(Stream.objects.filter(**wanted))))
    found.sort(key=lambda one: (one[1].get("ts", 0), one[0].pk))
    there = set(event_ids)
    away = {row.anchor for row, _ in found} - there - {""}
    known = set(Event.objects.filter(owner=scope.owner, event_id__in=away).values_list("event_id", flat=True))
    by_anchor: dict[str, list[dict[str, Any]]] = defaultdict(list)
    orphans = []
    for row, payload in found:
        shown_as = {"event_id": payload["event_id"], "kind": "partial", "invocation_id": row.invocation_id}
        one = shown_as | {"chunks": row.chunks, "payload": payload}
        if row.anchor in there or not row.anchor:
            by_anchor[row.anchor].append(one)
        elif row.anchor not in known:
            orphans.append(one)
    return by_anchor, orphans
