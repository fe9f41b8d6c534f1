"""The catalog, as far as policy lets this caller use it."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from approvals.policy import Question, judge_of
from approvals.states import Decision
from executions.api import schemas
from executions.services import catalog, typings
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.requests import Query, read_query, user_of
from forge_project.kernel.errors import Missing


def usable(user: User) -> Iterator[dict[str, Any]]:
    """Every capability that no rule denies `user` outright, by name."""
    judge = judge_of(user.get_username())
    for known in catalog.registry().all():
        question = Question(
            caller=user.get_username(),
            workspace="",
            capability=known.name,
            effect=known.effect.value,
            network=known.network,
        )
        decision = judge(question).decision
        if decision != Decision.DENY:
            yield {
                "name": known.name,
                "summary": known.summary,
                "effect": known.effect.value,
                "risk": known.risk.value,
                "recovery_mode": known.recovery_mode.value,
                "network": known.network,
                "timeout_ms": known.timeout_ms,
                "decision": decision.value,
                "input_schema": known.input_schema,
                "result_schema": known.result_schema,
            }


class Capabilities(APIView):
    """What a caller may ask for."""

    @extend_schema(operation_id="capabilities_list", responses={200: paged(schemas.Capability), **problems()})
    def get(self, request: Request) -> Response:
        """All of them, on one page."""
        read_query(request, Query)
        return Response({"results": list(usable(user_of(request))), "next": None, "previous": None})


class OneCapability(APIView):
    """One capability."""

    @extend_schema(operation_id="capabilities_read", responses={200: schemas.Capability, **problems(404)})
    def get(self, request: Request, name: str) -> Response:
        """Its declarations."""
        read_query(request, Query)
        found = next((known for known in usable(user_of(request)) if known["name"] == name), None)
        if found is None:
            raise Missing("no such capability", capability=name)
        return Response(found)


class TypeScript(BaseRenderer):
    """Declarations as they are; a refusal as JSON."""

    media_type, format, charset = "application/typescript", "d.ts", "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """The bytes of a text, or of a problem."""
        return data.encode() if isinstance(data, str) else JSONRenderer().render(data)


class Types(APIView):
    """What a script can use, as TypeScript declarations."""

    renderer_classes = (TypeScript,)

    @extend_schema(
        operation_id="capabilities_types",
        responses={(200, "application/typescript"): OpenApiTypes.STR, **problems()},
    )
    def get(self, request: Request) -> Response:
        """Globals, and every capability with its input and result."""
        read_query(request, Query)
        return Response(typings.declarations(usable(user_of(request))))
