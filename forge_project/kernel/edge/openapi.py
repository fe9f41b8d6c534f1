"""What every operation of the API's description shares."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiResponse, inline_serializer
from rest_framework import serializers

from forge_project.kernel.http import PROBLEM

_MEANING = {
    400: "not well formed; facts.path points at the fault",
    401: "no token, or one that has expired",
    403: "not allowed",
    404: "not there, or not yours",
    409: "the state has moved on; facts say to what",
    413: "too many bytes",
    415: "the body is not JSON",
    429: "over a cap; Retry-After says when to ask again",
}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself when it is made
    """`Authorization: Token forge_…`."""

    target_class = "forge_project.kernel.authentication.Token"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token` and a space before the token",
        }


class Problem(serializers.Serializer[Any]):
    """An RFC 9457 problem."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    facts = serializers.DictField()
    correlation_id = serializers.CharField()


def problems(*statuses: int) -> dict[Any, Any]:
    """The refusals an operation can answer with; 400, 401 and 429 always."""
    return {
        (status, PROBLEM): OpenApiResponse(Problem, _MEANING[status]) for status in sorted({400, 401, 429, *statuses})
    }


def paged(item: type[serializers.Serializer[Any]]) -> Any:
    """The description of a page of `item`."""
    link: dict[str, Any] = {"allow_null": True, "help_text": "a whole URL"}
    fields: dict[str, Any] = {
        "results": item(many=True),
        "next": serializers.CharField(**link),
        "previous": serializers.CharField(**link),
    }
    return inline_serializer(f"{item.__name__}Page", fields)
