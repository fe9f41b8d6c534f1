"""What became of an effect that Forge could not know, said by an operator."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from executions.api import schemas
from executions.api.executions import shown
from executions.selectors import rows
from executions.services.resolve import MAX_PIECE, MAX_PIECES, MAX_REASON, Resolve, resolve
from forge_project.kernel import actors
from forge_project.kernel.edge.openapi import problems
from forge_project.kernel.edge.requests import Body, Query, read_query, user_of

_N = OpenApiParameter("n", int, OpenApiParameter.PATH, description="the call's number")
_RESOLVE = Body(
    "observed",
    "reason",
    "evidence",
    observed={"type": "string", "enum": ["applied", "not_applied"]},
    result={"description": "what the caller is told of an applied call, as its capability would have said it"},
    reason={"type": "string", "minLength": 1, "maxLength": MAX_REASON},
    evidence={
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_PIECES,
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_PIECE},
        "description": "what shows it: what was looked at and seen there",
    },
)


class Resolution(APIView):
    """The end of not knowing."""

    @extend_schema(
        operation_id="executions_resolve",
        parameters=[_N],
        request={"application/json": _RESOLVE.schema},
        responses={200: schemas.Execution, **problems(403, 404, 409, 415)},
    )
    def post(self, request: Request, ref: str, n: str) -> Response:
        """For operators, once a call: then the execution ends, or its script goes on. 409 if it is not unknown."""
        read_query(request, Query)
        user = user_of(request)
        row = rows.get_to_resolve(user, ref)
        said = _RESOLVE.read(request)
        said["evidence"] = tuple(said["evidence"])
        actor = actors.of(user)
        return Response(shown(request, resolve(Resolve(execution_ref=row.pk, n=int(n), actor=actor, **said))))
