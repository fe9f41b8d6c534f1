"""What the endpoints take and answer."""

from typing import Any

from rest_framework import serializers

from approvals.services.words import MAX_REASON
from approvals.states import Risk, State
from forge_project.kernel.edge.paging import PageQuery
from forge_project.kernel.edge.requests import Body

_ID = r"^[\x21-\x7e]{1,200}$(?!\n)"
_REASON = {"type": "string", "maxLength": MAX_REASON}
DECIDE = Body(
    "decision",
    "version",
    "fingerprint",
    decision={"type": "string", "enum": ["approve", "deny"]},
    reason=_REASON | {"description": "required for deny; goes back to the agent"},
    version={"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "as seen"},
    fingerprint={"type": "string", "minLength": 1, "maxLength": 120, "description": "as seen"},
)
REVOKE = Body("reason", reason=_REASON | {"minLength": 1})


class Filters(PageQuery):
    """Which approvals, newest first."""

    state = serializers.ChoiceField(State.choices, required=False)
    risk = serializers.ChoiceField(Risk.choices, required=False)
    capability = serializers.RegexField(_ID, required=False)
    execution = serializers.RegexField(r"^exec_[0-9a-f]{32}$(?!\n)", required=False)


class Approval(serializers.Serializer[Any]):
    """One question to a person, and its answer. `fingerprint` covers all that is shown."""

    approval_ref = serializers.CharField()
    execution_ref = serializers.CharField()
    call_id = serializers.CharField()
    n = serializers.IntegerField()
    capability = serializers.CharField()
    target = serializers.CharField(allow_blank=True)
    risk = serializers.ChoiceField(Risk.choices)
    state = serializers.ChoiceField(State.choices)
    version = serializers.IntegerField()
    fingerprint = serializers.CharField()
    sentence = serializers.CharField()
    preview = serializers.JSONField()
    warnings = serializers.ListField(child=serializers.CharField())
    reversible = serializers.BooleanField()
    purpose = serializers.CharField(allow_blank=True, help_text="the agent's own words")
    requested_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
