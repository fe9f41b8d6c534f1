"""What observers have not been told yet, and their word that they have."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from executions.api import queries, schemas
from executions.selectors import signals
from executions.services.acknowledge import Acknowledge, acknowledge
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.paging import Order, moment, page, ref
from forge_project.kernel.edge.requests import Body, Query, read_query, user_of

OLDEST = Order((("created_at", moment), ("ref", ref)))
_NOTHING = Body()


class Signals(APIView):
    """Signals that nobody has acknowledged."""

    @extend_schema(
        operation_id="signals_list",
        parameters=[queries.Signals],
        responses={200: paged(schemas.Signal), **problems()},
    )
    def get(self, request: Request) -> Response:
        """Oldest first; `limit` is brought into 1..100."""
        query = read_query(request, queries.Signals)
        query["limit"] = min(max(query["limit"], 1), signals.MAX_LIMIT)
        found = page(request, signals.pending(user_of(request)), OLDEST, query)
        return found.answer([signals.payload(row) for row in found.rows])


class Acknowledgement(APIView):
    """A signal that was received."""

    @extend_schema(
        operation_id="signals_acknowledge",
        request={"application/json": _NOTHING.schema},
        responses={200: schemas.Acknowledged, **problems(404, 413, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """`acknowledged` is true the first time only; the signal leaves the list."""
        read_query(request, Query)
        _NOTHING.read(request)
        return Response({"acknowledged": acknowledge(Acknowledge(signal_ref=ref, actor=user_of(request)))})
