"""What an execution did and said: its calls, its events, its output."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from executions.api import queries, records, schemas
from executions.models import Attempt, Call
from executions.selectors import events, output, rows
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.paging import Order, PageQuery, count, number, page
from forge_project.kernel.edge.requests import read_query, user_of

_BY_NUMBER = Order((("round", number), ("n", number)))


class Calls(APIView):
    """An execution's calls."""

    @extend_schema(
        operation_id="executions_calls",
        parameters=[PageQuery],
        responses={200: paged(schemas.Call), **problems(404)},
    )
    def get(self, request: Request, ref: str) -> Response:
        """By their number; inputs and results are redacted."""
        query = read_query(request, PageQuery)
        row = rows.get_for(user_of(request), ref)
        found = page(request, Call.objects.filter(execution=row), _BY_NUMBER, query)
        return found.answer([records.call(one) for one in found.rows])


class Attempts(APIView):
    """Which workers tried an execution, and how each try ended."""

    @extend_schema(
        operation_id="executions_attempts",
        parameters=[PageQuery],
        responses={200: paged(schemas.Attempt), **problems(404)},
    )
    def get(self, request: Request, ref: str) -> Response:
        """By their number; kept for good."""
        query = read_query(request, PageQuery)
        row = rows.get_for(user_of(request), ref)
        found = page(request, Attempt.objects.filter(execution=row), Order((("number", number),)), query)
        return found.answer([records.attempt(one) for one in found.rows])


class Events(APIView):
    """An execution's chain in the ledger."""

    @extend_schema(
        operation_id="executions_events",
        parameters=[PageQuery],
        responses={200: paged(schemas.LedgerEvent), **problems(404)},
    )
    def get(self, request: Request, ref: str) -> Response:
        """In order, with hashes, each checked now."""
        query = read_query(request, PageQuery)
        row = rows.get_for(user_of(request), ref)
        found = page(request, events.of(row.pk), Order((("id", count),)), query)
        return found.answer(events.as_json(found.rows))


class Output(APIView):
    """What an execution wrote."""

    @extend_schema(
        operation_id="executions_output",
        parameters=[queries.Range],
        responses={200: schemas.OutputPiece, **problems(404)},
    )
    def get(self, request: Request, ref: str) -> Response:
        """A piece of one stream, live while it runs; ask again from next_offset until eof."""
        query = read_query(request, queries.Range)
        row = rows.get_for(user_of(request), ref)
        piece = output.read(row, query["stream"], query["offset"], query["limit"])
        told = {
            "chunk": piece.chunk,
            "encoding": "utf-8",
            "offset": piece.offset,
            "next_offset": piece.next_offset,
            "eof": piece.eof,
        }
        return Response(told | ({"artifact_ref": piece.artifact_ref} if piece.artifact_ref else {}))
