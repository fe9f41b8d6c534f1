"""Where signals are to be sent."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from executions.api import schemas
from executions.outbox.models import SignalKind
from executions.selectors import webhooks
from executions.services.webhooks.subscribe import Subscribe, subscribe, unsubscribe
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.paging import Order, PageQuery, moment, page, ref
from forge_project.kernel.edge.requests import Body, Query, read_query, user_of
from forge_project.kernel.errors import Missing
from forge_project.kernel.network.urls import MAX_URL

OLDEST = Order((("created_at", moment), ("ref", ref)))
_KINDS: dict[str, Any] = {
    "type": "array",
    "items": {"enum": list(SignalKind.values)},
    "minItems": 1,
    "uniqueItems": True,
}
_NEW = Body(
    "url",
    url={"type": "string", "minLength": 1, "maxLength": MAX_URL, "description": "https, on a public address"},
    kinds=_KINDS,
    everything={"type": "boolean", "description": "everybody's signals; operators only"},
)


class Webhooks(APIView):
    """The webhooks this reader may see."""

    throttle_scope = "webhook"

    @extend_schema(
        operation_id="webhooks_create",
        request={"application/json": _NEW.schema},
        responses={
            201: OpenApiResponse(schemas.NewWebhook, "made; the secret is shown this once"),
            **problems(403, 413, 415, 429),
        },
    )
    def post(self, request: Request) -> Response:
        """Signals of one's own executions (operators: of all) are sent to `url`, signed as Standard Webhooks says."""
        read_query(request, Query)
        user = user_of(request)
        made = subscribe(Subscribe(owner=user, **_NEW.read(request)))
        return Response(webhooks.as_json(made.webhook, user) | {"secret": made.secret}, 201)

    @extend_schema(
        operation_id="webhooks_list",
        parameters=[PageQuery],
        responses={200: paged(schemas.Webhook), **problems()},
    )
    def get(self, request: Request) -> Response:
        """One's own; an operator sees all, without what may be secret in a URL."""
        query, user = read_query(request, PageQuery), user_of(request)
        found = page(request, webhooks.visible_to(user), OLDEST, query)
        return found.answer([webhooks.as_json(row, user) for row in found.rows])


class OneWebhook(APIView):
    """One webhook."""

    @extend_schema(operation_id="webhooks_read", responses={200: schemas.Webhook, **problems(404)})
    def get(self, request: Request, ref: str) -> Response:
        """Without its secret."""
        read_query(request, Query)
        row = webhooks.visible_to(user_of(request)).filter(pk=ref).first()
        if row is None:
            raise Missing("no such webhook", webhook=ref)
        return Response(webhooks.as_json(row, user_of(request)))

    @extend_schema(operation_id="webhooks_delete", request=None, responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, ref: str) -> Response:
        """Nothing is sent there any more."""
        read_query(request, Query)
        unsubscribe(ref, user_of(request))
        return Response(status=204)
