"""The request body of the API. Apart from kernel/http: DRF's views import their parsers while they are imported."""

from typing import IO, Any

from rest_framework import exceptions
from rest_framework.parsers import BaseParser

from forge_project.kernel import errors, strict_json

MAX_BODY = 2 * 1024 * 1024


class StrictJSONParser(BaseParser):
    """DRF's body parser by kernel/strict_json: at most MAX_BODY bytes, no content encoding."""

    media_type = "application/json"

    def parse(self, stream: IO[Any], media_type: str | None = None, parser_context: Any = None) -> Any:
        request = (parser_context or {}).get("request")
        if request is not None and request.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
            raise exceptions.UnsupportedMediaType("Content-Encoding", "a content encoding is not accepted")
        data = stream.read(MAX_BODY + 1)
        if len(data) > MAX_BODY:
            raise errors.TooLarge(f"a body may have {MAX_BODY} bytes", limit=MAX_BODY)
        return strict_json.loads(data)
