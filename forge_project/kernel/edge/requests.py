"""What a client sends beside its credentials, read strictly: closed query strings and closed bodies."""

from typing import Any, cast

from django.contrib.auth.models import User
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.request import Request

from forge_project.kernel.errors import Invalid
from forge_project.kernel.strict_json import pointer_token


def user_of(request: Request) -> User:
    """Who asks; only for views that demand authentication."""
    return cast(User, request.user)


class Query(serializers.Serializer[Any]):
    """The query string of one endpoint; its fields also document it."""


def read_query(request: Request, kind: type[Query]) -> dict[str, Any]:
    """The checked parameters, defaults filled in; Invalid for an unknown, repeated or faulty one."""
    form = kind(data=request.query_params.dict())
    for name, values in request.query_params.lists():
        if name not in form.fields:
            raise _bad_parameter(name, "there is no such query parameter", "query.unknown")
        if len(values) != 1:
            raise _bad_parameter(name, "a query parameter stands once", "query.twice")
        if "\0" in values[0]:
            raise _bad_parameter(name, "U+0000 is not text", "query.nul")
    if not form.is_valid():
        name, faults = next(iter(form.errors.items()))
        raise _bad_parameter(str(name), str(cast(list[Any], faults)[0]), "query.value")
    return dict(form.validated_data)


def _bad_parameter(name: str, message: str, rule: str) -> Invalid:
    token = pointer_token(name[:100])
    return Invalid(f"query parameter {token}: {message}", path=f"/{token}", rule=rule)


class Body:
    """A closed JSON object as the body of one endpoint."""

    def __init__(self, *required: str, **properties: Any) -> None:
        self.schema: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": properties,
            "required": list(required),
        }
        self._validator = Draft202012Validator(self.schema)

    def read(self, request: Request) -> dict[str, Any]:
        """The body; Invalid with the path of its first fault."""
        faults = sorted(self._validator.iter_errors(request.data), key=lambda fault: list(map(str, fault.path)))
        if faults:
            raise _bad_body(faults[0])
        return dict(request.data)


def _bad_body(fault: ValidationError) -> Invalid:
    parts = [str(part) for part in fault.absolute_path]
    schema = cast(dict[str, Any], fault.schema)
    if fault.validator == "required":
        parts.append(next(name for name in schema["required"] if name not in cast(Any, fault.instance)))
    elif fault.validator == "additionalProperties":
        parts.append(min(set(cast(Any, fault.instance)) - set(schema["properties"])))
    path = "".join(f"/{pointer_token(part[:100])}" for part in parts)
    # jsonschema's own message quotes the value.
    return Invalid(f"{path or 'the body'} fails {fault.validator}", path=path, rule=f"schema.{fault.validator}")
