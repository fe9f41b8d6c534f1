"""Cursor pages over a stable order: no offset, so rows that come or go meanwhile are neither skipped nor doubled."""

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from forge_project.kernel import clock
from forge_project.kernel.edge.requests import Query
from forge_project.kernel.errors import Invalid

_REF = re.compile(r"[a-z]{1,10}_[0-9a-f]{32}")
_AHEAD, _BACK = "n", "p"
Row = TypeVar("Row", bound=Model)


class PageQuery(Query):
    """`limit` rows from `cursor`, which is one of the links of another page."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = serializers.CharField(max_length=400, required=False, trim_whitespace=False)


def moment(given: Any) -> datetime:
    """A time in a cursor."""
    found = datetime.fromisoformat(given)
    if found.tzinfo is None:
        raise ValueError("a time without a zone")
    return found.astimezone(UTC)


def ref(given: Any) -> str:
    """A ref in a cursor."""
    if not isinstance(given, str) or not _REF.fullmatch(given):
        raise ValueError("not a ref")
    return given


def number(given: Any) -> int:
    """A count in a cursor."""
    if type(given) is not int or not 0 <= given < 2**31:
        raise ValueError("not a count")
    return given


def count(given: Any) -> int:
    """A row's id in a cursor."""
    if type(given) is not int or not 0 <= given < 2**63:
        raise ValueError("not a count")
    return given


@dataclass(frozen=True, slots=True)
class Order:
    """The columns of an order, each with the reader of its cursor value; together they are unique."""

    columns: tuple[tuple[str, Callable[[Any], Any]], ...]
    descending: bool = False

    def names(self, *, turned: bool) -> list[str]:
        """For order_by."""
        sign = "-" if self.descending != turned else ""
        return [f"{sign}{name}" for name, _ in self.columns]

    def beyond(self, values: Sequence[Any], *, turned: bool) -> Q:
        """(a, b) > (x, y) as a > x or a = x and b > y."""
        ahead = "lt" if self.descending != turned else "gt"
        found, equal = Q(), Q()
        for (name, _), value in zip(self.columns, values, strict=True):
            found |= equal & Q(**{f"{name}__{ahead}": value})
            equal &= Q(**{name: value})
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Row]):
    """Some rows in order, and the links to those around them."""

    rows: list[Row]
    next: str | None
    previous: str | None

    def answer(self, results: list[dict[str, Any]]) -> Response:
        """The response, once the rows are rendered."""
        return Response({"results": results, "next": self.next, "previous": self.previous})


def page(request: Request, rows: QuerySet[Row], order: Order, query: dict[str, Any]) -> Page[Row]:
    """The page that `query` (a PageQuery, read) asks for; Invalid for a cursor we did not make."""
    limit, cursor = query["limit"], query.get("cursor")
    way, values = _decode(cursor, order) if cursor else (_AHEAD, None)
    turned = way == _BACK
    rows = rows.order_by(*order.names(turned=turned))
    if values is not None:
        rows = rows.filter(order.beyond(values, turned=turned))
    found = list(rows[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    if turned:
        found.reverse()
    before, after = (more, True) if turned else (cursor is not None, more)
    return Page(
        rows=found,
        next=_link(request, order, _AHEAD, found[-1]) if found and after else None,
        previous=_link(request, order, _BACK, found[0]) if found and before else None,
    )


def _link(request: Request, order: Order, way: str, row: Model) -> str:
    values = [getattr(row, name) for name, _ in order.columns]
    told = [way, *(clock.text(value) if isinstance(value, datetime) else value for value in values)]
    query = request.query_params.copy()
    query["cursor"] = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def _decode(cursor: str, order: Order) -> tuple[str, list[Any]]:
    try:
        told = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars="-_", validate=True))
        way, *values = told
        if way not in (_AHEAD, _BACK):
            raise ValueError("no such way")
        return way, [read(value) for (_, read), value in zip(order.columns, values, strict=True)]
    except (ValueError, TypeError, RecursionError, OverflowError):
        raise Invalid("this cursor is not one of ours", path="/cursor", rule="query.cursor") from None
