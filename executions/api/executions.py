"""Submit, look up, list, read, cancel."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from executions.api import queries, schemas
from executions.api.polls import patience
from executions.api.records import full, record
from executions.models import Execution
from executions.selectors import rows, traces
from executions.services.analysis import LinkAnalysis, link_analysis
from executions.services.cancel import MAX_REASON, Cancel, cancel
from executions.services.submission import ID, SCHEMA, parse
from executions.services.submit import lookup, submit
from executions.states import TERMINAL
from forge_project.kernel import actors
from forge_project.kernel.edge.etags import tagged
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.paging import Order, moment, page, ref
from forge_project.kernel.edge.requests import Body, Query, read_query, user_of
from forge_project.kernel.errors import Missing

NEWEST = Order((("created_at", moment), ("ref", ref)), descending=True)
AS_STARTED = Order((("begun", moment), ("ref", ref)))
_KEY = OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER, required=True, pattern=r"^[\x21-\x7e]{1,150}$")
_REPLAY = OpenApiParameter(
    "Idempotent-Replay", str, OpenApiParameter.HEADER, response=[200], description="`true` for a key that was known"
)
_LOCATION = OpenApiParameter("Location", str, OpenApiParameter.HEADER, response=[202])
_RETRY = OpenApiParameter("Retry-After", int, OpenApiParameter.HEADER, response=[202])
_REQUEST = {"application/json": SCHEMA}
_TAG = OpenApiParameter("ETag", str, OpenApiParameter.HEADER, response=[200, 304])
_KNOWN = OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="an ETag this client has seen")
_ANALYSIS = Body("analysis_ref", analysis_ref=ID)
_REASON = Body("reason", reason={"type": "string", "minLength": 1, "maxLength": MAX_REASON})


def shown(request: Request, row: Execution) -> dict[str, Any]:
    """One record as this reader sees it."""
    return full(row, traces.of([row])[row.pk], user_of(request))


class Executions(APIView):
    """What agents asked for."""

    throttle_scope = "submit"

    @extend_schema(
        operation_id="executions_submit",
        parameters=[_KEY, queries.Wait, _REPLAY, _LOCATION, _RETRY],
        request=_REQUEST,
        responses={
            200: OpenApiResponse(schemas.Execution, "finished, or the execution this key already names"),
            202: OpenApiResponse(schemas.Execution, "accepted, and not finished yet"),
            **problems(403, 409, 413, 415, 429),
        },
    )
    def post(self, request: Request) -> Response:
        """Accepts a script (`source`) or one `capability` request, once per idempotency key."""
        query = read_query(request, queries.Wait)
        user = user_of(request)
        made = submit(parse(user, request.headers.get("Idempotency-Key"), request.data))
        with patience(user.pk, query["wait"]) as seconds:
            row = rows.wait(made.execution, seconds)
        if not made.created:
            return Response(shown(request, row), headers={"Idempotent-Replay": "true"})
        if row.status in TERMINAL:
            return Response(shown(request, row))
        told = shown(request, row)
        place = reverse("execution", [row.pk], request=request)
        return Response(told, 202, headers={"Location": place, "Retry-After": str(told["next"].get("after_s", 5))})

    @extend_schema(
        operation_id="executions_list",
        parameters=[queries.Filters],
        responses={200: paged(schemas.Execution), **problems()},
    )
    def get(self, request: Request) -> Response:
        """Executions this reader may see, without their results."""
        query = read_query(request, queries.Filters)
        order = AS_STARTED if "root_session" in query else NEWEST
        found = page(request, rows.matching(user_of(request), query), order, query)
        beside = traces.of(found.rows)
        return found.answer([record(row, beside[row.pk]) for row in found.rows])


class Lookup(APIView):
    """Asks without asking for anything."""

    @extend_schema(
        operation_id="executions_lookup",
        parameters=[_KEY],
        request=_REQUEST,
        responses={200: schemas.Execution, **problems(404, 409, 413, 415)},
    )
    def post(self, request: Request) -> Response:
        """The execution that this very key and body made, if they did; starts nothing."""
        read_query(request, Query)
        row = lookup(parse(user_of(request), request.headers.get("Idempotency-Key"), request.data))
        if row is None:
            raise Missing("this key has made no execution")
        return Response(shown(request, row))


class One(APIView):
    """One execution."""

    @extend_schema(
        operation_id="executions_read",
        parameters=[queries.Wait, _KNOWN, _TAG],
        responses={
            200: schemas.Execution,
            304: OpenApiResponse(description="still as the ETag says"),
            **problems(404),
        },
    )
    def get(self, request: Request, ref: str) -> Response:
        """Its record."""
        query = read_query(request, queries.Wait)
        user = user_of(request)
        with patience(user.pk, query["wait"]) as seconds:
            row = rows.wait(rows.get_for(user, ref), seconds)
        return tagged(request, shown(request, row))


class Cancellation(APIView):
    """The end of an execution, asked for."""

    @extend_schema(
        operation_id="executions_cancel",
        request={"application/json": _REASON.schema},
        responses={202: schemas.Execution, **problems(403, 404, 409, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Persisted at once and final; a running one ends within about a second."""
        read_query(request, Query)
        user = user_of(request)
        row = rows.get_to_cancel(user, ref)
        reason = _REASON.read(request)["reason"]
        return Response(
            shown(request, cancel(Cancel(execution_ref=row.pk, actor=actors.of(user), reason=reason))),
            202,
        )


class Analysis(APIView):
    """The outside analysis job of an execution."""

    @extend_schema(
        operation_id="executions_analysis",
        request={"application/json": _ANALYSIS.schema},
        responses={200: schemas.Execution, **problems(403, 404, 409, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Names it, or names another, while the execution has not finished."""
        read_query(request, Query)
        user = user_of(request)
        row = rows.get_own(user, ref)
        told = _ANALYSIS.read(request)["analysis_ref"]
        asked = LinkAnalysis(execution_ref=row.pk, actor=actors.of(user), analysis_ref=told)
        return Response(shown(request, link_analysis(asked)))
