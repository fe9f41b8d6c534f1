"""The one place where failures become HTTP: RFC 9457 problem+json."""

import re
import uuid
from collections.abc import Callable
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from forge_project.kernel import clock, errors
from forge_project.kernel.latency import observe
from forge_project.kernel.log import trace
from forge_project.kernel.log.event import event
from forge_project.kernel.parsing import MAX_BODY

PROBLEM = "application/problem+json"
STATUS: dict[type[Exception], int] = {
    errors.Invalid: 400,
    errors.Unidentified: 401,
    errors.Denied: 403,
    errors.Missing: 404,
    errors.Conflict: 409,
    errors.Failed: 422,
    errors.TooLarge: 413,
    errors.TooMany: 429,
    errors.NotReady: 503,
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_CODES = {400: "INVALID_REQUEST", 401: "IDENTITY_INVALID", 403: "SCOPE_DENIED", 404: "NOT_FOUND", 429: "QUEUE_FULL"}


def status_of(error: errors.ForgeError) -> int:
    """The HTTP status of one of our errors: of the nearest class in STATUS."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem(status: int, code: str, detail: str, facts: dict[str, Any], request: HttpRequest | None) -> dict[str, Any]:
    """The body of an RFC 9457 problem."""
    return {
        "type": f"urn:forge:{code.lower().replace('_', '-')}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "code": code,
        "detail": detail,
        "facts": facts,
        "correlation_id": getattr(request, "correlation_id", ""),
    }


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Turns what a view raised into a problem; what we don't know stays a 500 and is logged by Django."""
    request: HttpRequest | None = getattr(context.get("request"), "_request", None)
    if isinstance(exc, errors.ForgeError):
        set_rollback()
        status = status_of(exc)
        response = Response(problem(status, exc.code, exc.message, exc.facts, request), status)
    elif isinstance(exc, RequestDataTooBig):
        response = Response(problem(413, "BYTES_LIMIT", "the body is too large", {"limit": MAX_BODY}, request), 413)
    elif isinstance(exc, SuspiciousOperation | BadRequest | MultiPartParserError):
        response = Response(problem(400, "INVALID_REQUEST", "the request is not well formed", {}, request), 400)
    else:
        answered = drf_exception_handler(exc, context)
        if answered is None:
            return None
        code = _CODES.get(answered.status_code, "INVALID_REQUEST")
        answered.data = problem(answered.status_code, code, _detail(exc), {}, request)
        response = answered
    retry = getattr(exc, "facts", {}).get("retry_after")
    if retry is not None:
        response["Retry-After"] = str(retry)
    if response.status_code == 401 and not response.has_header("WWW-Authenticate"):
        response["WWW-Authenticate"] = "Token"
    response.content_type = PROBLEM
    if (asked := context.get("request")) is not None:  # whatever the view itself would have written: YAML, bytes
        asked.accepted_renderer, asked.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
    return response


def _detail(exc: Exception) -> str:
    if isinstance(exc, Http404):
        return "not found"
    if isinstance(exc, PermissionDenied):
        return "not allowed"
    detail = getattr(exc, "detail", "")
    return str(detail) if isinstance(detail, str | exceptions.ErrorDetail) else "the request is not valid"


def plain_problem(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    """A problem answered outside DRF (unknown address, broken CSRF)."""
    return JsonResponse(problem(status, code, detail, {}, request), status=status, content_type=PROBLEM)


def route_of(request: HttpRequest) -> str:
    """The pattern that matched, never the address: that may hold anything."""
    match = getattr(request, "resolver_match", None)
    return str(match.route) if match else ""


def correlation(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: takes or makes X-Request-Id, and gives it back."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        ours = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.correlation_id = ours  # type: ignore[attr-defined]
        began = clock.monotonic()
        with trace.bound(correlation_id=ours, traceparent=trace.read(request.headers.get("traceparent", ""))):
            response = get_response(request)
            took = clock.monotonic() - began
            told: dict[str, Any] = {
                "method": request.method,
                "route": route_of(request),
                "status": response.status_code,
            }
            observe(str(request.method), route_of(request), response.status_code, took)
            event("http", "request", **told, duration_ms=round(took * 1000, 1))
        response["X-Request-Id"] = ours
        return response

    return middleware


def plain_cookies(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: drops cookies with U+0000 (`"\\000"` unquotes to it), which the session table can't be asked for."""

    def middleware(request: HttpRequest) -> HttpResponse:
        for name in [name for name, value in request.COOKIES.items() if "\0" in value]:
            del request.COOKIES[name]
        return get_response(request)

    return middleware


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler404: the API's form under /api/, Django's page elsewhere."""
    if request.path.startswith("/api/"):
        return plain_problem(request, 404, "NOT_FOUND", "no such address")
    return HttpResponse("Not found", status=404, content_type="text/plain")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler400: a host that is not ours, and whatever else Django refuses before a view."""
    return plain_problem(request, 400, "INVALID_REQUEST", "the request is not well formed")


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500: a bug; its detail is in the operator's log under the same correlation id."""
    return plain_problem(request, 500, "EXECUTION_FAILED", "something broke on our side")
