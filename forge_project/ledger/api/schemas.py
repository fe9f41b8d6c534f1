"""What the ledger's endpoints take and answer, for the API's description."""

from typing import Any

from rest_framework import serializers

Schema = serializers.Serializer[Any]
_OPTIONAL: dict[str, Any] = {"required": False}
_ID = {"type": "string", "pattern": "^[\\x21-\\x7e]{1,200}$"}
EVENT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["invocation_id", "turn_id", "role", "author"],
    "properties": {
        "event_id": _ID,
        "invocation_id": _ID,
        "session_id": _ID,
        "run_id": _ID,
        "turn_id": _ID,
        "ts": {"type": "integer", "minimum": 0, "description": "the writer's clock, milliseconds"},
        "role": {"enum": ["user", "model", "tool", "system"]},
        "author": {"enum": ["user", "agent", "tool", "system"]},
        "branch": _ID,
        "partial": {"type": "boolean"},
        "status": {"enum": ["streaming", "completed", "failed", "aborted", "cancelled"]},
        "content": {"type": "object", "description": "text, thinking, function_call, function_response or error"},
        "actions": {"type": "object"},
        "refs": {"type": "object", "additionalProperties": _ID},
    },
}
SOURCE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path", "fingerprint"],
    "properties": {"path": {"type": "string", "maxLength": 1000}, "fingerprint": _ID},
}


class Written(Schema):
    """Where an event stands; `created` is false for an exact repeat."""

    event_id = serializers.CharField()
    seq = serializers.IntegerField()
    created = serializers.BooleanField()


class Batch(Schema):
    """One answer an item, in order; none where this source had been imported before."""

    already_imported = serializers.BooleanField()
    results = Written(many=True)


class Kept(Schema):
    """How far the stream is; `ignored`: its final event is stored already."""

    chunks = serializers.IntegerField()
    ignored = serializers.BooleanField()


class RuntimeEvent(Schema):
    """One event, or a live stream at its anchor (kind `partial`, with `chunks`, without hashes)."""

    event_id = serializers.CharField()
    invocation_id = serializers.CharField()
    kind = serializers.CharField()
    chunks = serializers.IntegerField(**_OPTIONAL)
    seq = serializers.IntegerField(**_OPTIONAL)
    source = serializers.ChoiceField(["forge", "agent", "import"], **_OPTIONAL)  # type: ignore[assignment]
    operation_id = serializers.CharField(**_OPTIONAL)
    committed_at = serializers.DateTimeField(**_OPTIONAL)
    prev_hash = serializers.CharField(**_OPTIONAL)
    hash = serializers.CharField(**_OPTIONAL)
    verified = serializers.BooleanField(**_OPTIONAL)
    code = serializers.CharField(help_text="LEDGER_CORRUPT where the row was changed", **_OPTIONAL)
    position = serializers.CharField(help_text="give it as `cursor` to go on after this event", **_OPTIONAL)
    payload = serializers.DictField(allow_null=True)
