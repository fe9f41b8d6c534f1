"""Every error is one problem+json with its code; nothing a client sends is a 500."""

import io
import json

import pytest
from django.core.exceptions import SuspiciousOperation
from django.http import Http404
from django.test import RequestFactory
from rest_framework import exceptions
from rest_framework.request import Request

from forge_project.kernel import errors
from forge_project.kernel.http import correlation, exception_handler, not_found, status_of
from forge_project.kernel.parsing import MAX_BODY, StrictJSONParser


def answer(error):
    request = RequestFactory().get("/api/v1/x/")
    request.correlation_id = "req-1"
    return exception_handler(error, {"request": Request(request)})


def every_error():
    found = [errors.ForgeError]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind is not errors.ForgeError]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_class_has_a_status_below_500_or_is_not_ready(kind):
    status = status_of(kind("x"))
    assert 400 <= status < 500 or (status == 503 and issubclass(kind, errors.NotReady))


def test_the_body_is_a_problem():
    response = answer(errors.Conflict("lost the race", row=3))
    assert response.status_code == 409
    assert response.data == {
        "type": "urn:forge:state-conflict",
        "title": "State conflict",
        "status": 409,
        "code": "STATE_CONFLICT",
        "detail": "lost the race",
        "facts": {"row": 3},
        "correlation_id": "req-1",
    }


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (exceptions.NotAuthenticated(), 401, "IDENTITY_INVALID"),
        (exceptions.PermissionDenied(), 403, "SCOPE_DENIED"),
        (exceptions.ParseError(), 400, "INVALID_REQUEST"),
        (exceptions.MethodNotAllowed("PUT"), 405, "INVALID_REQUEST"),
        (exceptions.Throttled(), 429, "QUEUE_FULL"),
        (Http404(), 404, "NOT_FOUND"),
        (SuspiciousOperation(), 400, "INVALID_REQUEST"),
        (errors.TooMany("full", retry_after=7), 429, "QUEUE_FULL"),
    ],
)
def test_foreign_errors_are_problems_too(error, status, code):
    response = answer(error)
    assert (response.status_code, response.data["code"]) == (status, code)
    if status == 401:
        assert response["WWW-Authenticate"] == "Token"
    if isinstance(error, errors.TooMany):
        assert response["Retry-After"] == "7"


def test_a_bug_stays_a_bug():
    assert answer(ZeroDivisionError()) is None


def test_the_parser_counts_bytes_and_refuses_encodings():
    with pytest.raises(errors.TooLarge):
        StrictJSONParser().parse(io.BytesIO(b'"' + b"x" * MAX_BODY + b'"'))
    packed = RequestFactory().post("/", b"{}", "application/json", HTTP_CONTENT_ENCODING="gzip")
    with pytest.raises(exceptions.UnsupportedMediaType):
        StrictJSONParser().parse(io.BytesIO(b"{}"), None, {"request": packed})


@pytest.mark.parametrize("given", ["good-id_1", "bad id", "x" * 200, ""])
def test_a_request_id_is_taken_or_made(given):
    request = RequestFactory().get("/api/v1/none/", headers={"X-Request-Id": given})
    response = correlation(not_found)(request)
    assert response["X-Request-Id"] == json.loads(response.content)["correlation_id"]
    assert (response["X-Request-Id"] == given) is (given == "good-id_1")
