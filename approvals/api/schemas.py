"""What the endpoints take and answer."""

from typing import Any

from rest_framework import serializers

from approvals.models import MAX_ANSWER, MAX_CONDITION, MAX_QUESTIONS, MAX_USES
from approvals.services.words import MAX_REASON
from approvals.states import Risk, State
from forge_project.kernel.edge.paging import PageQuery
from forge_project.kernel.edge.requests import Body

_ID = r"^[\x21-\x7e]{1,200}$(?!\n)"
_REASON = {"type": "string", "maxLength": MAX_REASON}
_SHOWN = {
    "type": "string", "pattern": r"^[\x21-\x7e]{0,120}$(?!\n)",
    "description": "of the approval, as seen; to approve, needed once the agent was asked something",
}  # fmt: skip
DECIDE = Body(
    "decision",
    "version",
    "fingerprint",
    decision={"type": "string", "enum": ["approve", "deny"]},
    reason=_REASON | {"description": "required for deny; goes back to the agent"},
    version={"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "as seen"},
    fingerprint={"type": "string", "minLength": 1, "maxLength": 120, "description": "as seen"},
    shown=_SHOWN,
    typed_target={"type": "string", "maxLength": 20_000, "description": "critical risk: the target, as it is shown"},
    password={"type": "string", "maxLength": 4096, "description": "critical risk: yours, with your session"},
)
GRANT = Body(
    "version",
    "fingerprint",
    "condition",
    "uses",
    "lasts",
    version={"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "of the approval, as seen"},
    fingerprint={"type": "string", "minLength": 1, "maxLength": 120, "description": "of the approval, as seen"},
    shown=_SHOWN,
    condition={"type": "string", "maxLength": MAX_CONDITION, "description": "CEL over input and target"},
    uses={"type": "integer", "minimum": 1, "maximum": MAX_USES},
    lasts={"type": "string", "enum": ["execution", "15m", "1h", "8h"]},
)
VOTE = Body(shown=_SHOWN)
REVOKE = Body("reason", reason=_REASON | {"minLength": 1})
ANSWER = Body(
    "n",
    "text",
    n={"type": "integer", "minimum": 1, "maximum": MAX_QUESTIONS, "description": "of the question"},
    text={"type": "string", "minLength": 1, "maxLength": MAX_ANSWER, "description": "shown as the agent's own words"},
)


class Filters(PageQuery):
    """Which approvals, newest first."""

    state = serializers.ChoiceField(State.choices, required=False)
    risk = serializers.ChoiceField(Risk.choices, required=False)
    capability = serializers.RegexField(_ID, required=False)
    execution = serializers.RegexField(r"^exec_[0-9a-f]{32}$(?!\n)", required=False)


class Question(serializers.Serializer[Any]):
    """What an approver asked the agent about its request."""

    n = serializers.IntegerField()
    text = serializers.CharField()
    asked_by = serializers.CharField()
    asked_at = serializers.DateTimeField()
    answer = serializers.CharField(allow_null=True, help_text="the agent's own words; null: to be given")
    answered_at = serializers.DateTimeField(allow_null=True)


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
    votes_needed = serializers.IntegerField()
    voted = serializers.ListField(child=serializers.CharField(), help_text="who approved so far")
    approvers = serializers.CharField(allow_blank=True, help_text="the group that may decide; blank = any approver")
    grant = serializers.CharField(allow_null=True, help_text="the standing grant that answered it")
    questions = Question(many=True)
    shown = serializers.CharField(
        help_text="digest of fingerprint and questions, answers included: sent back to approve"
    )


class DeniedBefore(serializers.Serializer[Any]):
    """The same question of the same caller, denied."""

    approval_ref = serializers.CharField()
    decided_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField()


class OneApproval(Approval):
    """With what was said of the same question before."""

    denied_before = DeniedBefore(many=True)


class Grant(serializers.Serializer[Any]):
    """A standing approval."""

    grant_ref = serializers.CharField()
    approval_ref = serializers.CharField(help_text="the question it was made at")
    execution_ref = serializers.CharField(allow_null=True, help_text="null: any execution of the caller")
    caller = serializers.CharField()
    capability = serializers.CharField()
    workspace = serializers.CharField(allow_blank=True)
    condition = serializers.CharField()
    sentence = serializers.CharField()
    rule = serializers.CharField()
    rule_version = serializers.IntegerField()
    votes_needed = serializers.IntegerField()
    voted = serializers.ListField(child=serializers.CharField())
    uses = serializers.IntegerField()
    max_uses = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    lives_until = serializers.DateTimeField(allow_null=True, help_text="null: votes are missing")
    ended_at = serializers.DateTimeField(allow_null=True)
    ended_by = serializers.CharField(allow_null=True)
    end_reason = serializers.CharField(allow_blank=True)
