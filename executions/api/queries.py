"""The query strings of the executions' endpoints."""

from rest_framework import serializers

from executions.selectors.output import DEFAULT_BYTES, MAX_BYTES, STREAMS
from executions.states import Kind, Status
from forge_project.kernel.edge.paging import PageQuery
from forge_project.kernel.edge.requests import Query

MAX_WAIT_SECONDS = 60
_ID = r"^[\x21-\x7e]{1,150}$(?!\n)"
_SAFE = 2**53 - 1


class Wait(Query):
    """How long to hold the answer back."""

    wait = serializers.IntegerField(
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        default=0,
        help_text="seconds; answered earlier once finished, once it waits for a person, or where too many wait already",
    )


class Filters(PageQuery):
    """Which executions; with root_session they come in the order they started, else newest first."""

    status = serializers.ChoiceField(Status.choices, required=False)
    kind = serializers.ChoiceField(Kind.choices, required=False)
    capability = serializers.RegexField(_ID, required=False)
    session = serializers.RegexField(_ID, required=False)
    root_session = serializers.RegexField(_ID, required=False)
    task = serializers.RegexField(_ID, required=False)
    created_after = serializers.DateTimeField(required=False, help_text="at or after")
    created_before = serializers.DateTimeField(required=False, help_text="before")


class Signals(PageQuery):
    """How many."""

    limit = serializers.IntegerField(default=50, help_text="brought into 1..100")


class Range(Query):
    """Which bytes of which stream; a character is never cut, so a piece may be a few bytes off."""

    stream = serializers.ChoiceField(STREAMS, default="output")
    offset = serializers.IntegerField(min_value=0, max_value=_SAFE, default=0)
    limit = serializers.IntegerField(min_value=1, max_value=MAX_BYTES, default=DEFAULT_BYTES)
