"""POST and GET of runtime events, batches and live chunks; a caller has its own invocations only."""

import base64
import json

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from forge_project.kernel import actors
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.paging import PageQuery
from forge_project.kernel.edge.requests import Body, read_query, user_of
from forge_project.kernel.errors import Invalid
from forge_project.ledger import generic, imports, reads, streams
from forge_project.ledger.api import schemas
from forge_project.ledger.errors import LedgerCorrupt
from forge_project.ledger.events import Identity

_TEXT = {"type": "string", "maxLength": 65_536}
_ID = {"type": "string", "pattern": "^[\\x21-\\x7e]{1,200}\\Z"}
_BATCH = Body(
    "events",
    events={"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": generic.MAX_BATCH},
    source=schemas.SOURCE,
)
_CHUNK = {
    "type": "object",
    "additionalProperties": False,
    "required": ["chunk_no", "text"],
    "properties": {"chunk_no": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}, "text": _TEXT},
}
_STREAM = {
    "type": "object",
    "additionalProperties": False,
    "required": ["kind", "id"],
    "properties": {"kind": {"enum": list(streams.KINDS)}, "id": _ID},
}
_PARTIALS = Body(
    *("invocation_id", "turn_id", "stream", "chunks"),
    invocation_id=_ID,
    turn_id=_ID,
    branch=_ID,
    stream=_STREAM,
    chunks={"type": "array", "items": _CHUNK, "minItems": 1, "maxItems": 1000},
)
_EVENTS = paged(schemas.RuntimeEvent)


class EventQuery(PageQuery):
    """A page of events; of one invocation where it is named."""

    invocation_id = serializers.CharField(max_length=200, required=False, trim_whitespace=False)


def _owner(request: Request) -> str:
    return actors.of(user_of(request))


def _page(request: Request, session: str, run: str | None) -> Response:
    """Forward pages in commit order; every event's `position` goes on from there, also when more comes later."""
    query = read_query(request, EventQuery)
    scope = reads.Scope(owner=_owner(request), session_id=session, run_id=run, invocation_id=query.get("invocation_id"))
    cursor = query.get("cursor")
    after = _position(cursor) if cursor else (0, 0)
    found = reads.page(scope, after, query["limit"] + 1)
    more, rows = len(found) > query["limit"], found[: query["limit"]]
    places = {row.event_id: _cursor(row.position) for row in rows}
    told = reads.merged(scope, rows, first=cursor is None, last=not more)
    for one in told:
        if one.get("code") and scope.invocation_id is not None:
            raise LedgerCorrupt("this invocation's rows were changed", invocation=scope.invocation_id, seq=one["seq"])
        if one["kind"] != "partial":
            one["position"] = places[one["event_id"]]
    following = None
    if more:
        asked = request.query_params.copy()
        asked["cursor"] = _cursor(rows[-1].position)
        following = request.build_absolute_uri(f"{request.path}?{asked.urlencode()}")
    return Response({"results": told, "next": following, "previous": None})


def _cursor(position: tuple[int, int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def _position(cursor: str) -> tuple[int, int]:
    try:
        xid, row = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars="-_", validate=True))
        if type(xid) is not int or type(row) is not int or not (0 <= xid < 2**63 and 0 <= row < 2**63):
            raise ValueError("not a position")
        return xid, row
    except (ValueError, TypeError, RecursionError):
        raise Invalid("this cursor is not one of ours", path="/cursor", rule="query.cursor") from None


class RunEvents(APIView):
    """The events of one run of an agent's runtime."""

    @extend_schema(
        operation_id="ledger_append",
        request={"application/json": schemas.EVENT},
        responses={
            200: OpenApiResponse(schemas.Written, "it was there already"),
            201: OpenApiResponse(schemas.Written, "written"),
            **problems(403, 404, 409, 413, 415),
        },
    )
    def post(self, request: Request, sid: str, rid: str) -> Response:
        """Appends one event; an exact repeat is accepted and writes nothing."""
        place = generic.Place(owner=_owner(request), source="agent", session_id=sid, run_id=rid)
        written = generic.append([generic.parse(request.data, place)])[0]
        return Response(written._asdict(), 201 if written.created else 200)

    @extend_schema(
        operation_id="ledger_run_events",
        parameters=[EventQuery],
        responses={200: _EVENTS, **problems(404, 409)},
    )
    def get(self, request: Request, sid: str, rid: str) -> Response:
        """In commit order, with live streams at their anchors."""
        return _page(request, sid, rid)


class SessionEvents(APIView):
    """The events of one session, over all its runs."""

    @extend_schema(
        operation_id="ledger_session_events",
        parameters=[EventQuery],
        responses={200: _EVENTS, **problems(404, 409)},
    )
    def get(self, request: Request, sid: str) -> Response:
        """In commit order, with live streams at their anchors."""
        return _page(request, sid, None)


class Batch(APIView):
    """Many events at once."""

    @extend_schema(
        operation_id="ledger_batch",
        request={"application/json": _BATCH.schema},
        responses={200: schemas.Batch, **problems(403, 404, 409, 413, 415)},
    )
    def post(self, request: Request, sid: str, rid: str) -> Response:
        """All or nothing; the same `source.fingerprint` again is imported already."""
        body = _BATCH.read(request)
        source = body.get("source")
        place = generic.Place(owner=_owner(request), source="import" if source else "agent", session_id=sid, run_id=rid)
        items = [generic.parse(one, place, f"/events/{at}") for at, one in enumerate(body["events"])]
        if source is None:
            written = generic.append(items)
        elif (told := imports.once(place.owner, source["path"], source["fingerprint"], items)) is None:
            return Response({"already_imported": True, "results": []})
        else:
            written = told
        return Response({"already_imported": False, "results": [one._asdict() for one in written]})


class Partials(APIView):
    """Live text before its final event."""

    @extend_schema(
        operation_id="ledger_partials",
        request={"application/json": _PARTIALS.schema},
        responses={200: schemas.Kept, **problems(403, 404, 409, 413, 415)},
    )
    def post(self, request: Request, sid: str, rid: str) -> Response:
        """Appends numbered chunks; repeated ones are no-ops, a gap is refused."""
        body = _PARTIALS.read(request)
        identity = Identity(
            invocation_id=body["invocation_id"],
            session_id=sid,
            run_id=rid,
            turn_id=body["turn_id"],
            owner=_owner(request),
        )
        tool = body["stream"]["kind"] == "tool"
        live = streams.Live(
            identity=generic.own(identity),
            kind=body["stream"]["kind"],
            ref=body["stream"]["id"],
            role="tool" if tool else "model",
            author="tool" if tool else "agent",
            branch=body.get("branch"),
        )
        kept = streams.append(live, [(chunk["chunk_no"], chunk["text"]) for chunk in body["chunks"]])
        return Response({"chunks": kept.chunks, "ignored": kept.ignored})
