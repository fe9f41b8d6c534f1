"""What the endpoints answer, for the API's description."""

from typing import Any

from rest_framework import serializers

from executions.capabilities.base import Effect, Recovery, Risk
from executions.outbox.models import SignalKind
from executions.states import CallStatus, Interruption, Kind, SideEffect, Status

Schema = serializers.Serializer[Any]
_OPTIONAL: dict[str, Any] = {"required": False}


class Next(Schema):
    """What to do next, for a model to read."""

    action = serializers.ChoiceField(["wait", "resubmit", "stop", "done"])
    after_s = serializers.IntegerField(**_OPTIONAL)
    message = serializers.CharField()


class Fault(Schema):
    """Why it did not succeed."""

    code = serializers.CharField()
    message = serializers.CharField(allow_blank=True)
    retryable = serializers.BooleanField()
    details = serializers.DictField(**_OPTIONAL)


class Holding(Schema):
    """That an operator lets nothing of it be dispatched for now."""

    reason = serializers.CharField()
    since = serializers.DateTimeField()


class LedgerReceipt(Schema):
    """The head of the execution's chain of events: quoting it later proves what the ledger held."""

    head = serializers.CharField()
    seq = serializers.IntegerField()


class Execution(Schema):
    """The record of an execution. Optional fields are absent when empty; lists leave `result` out."""

    execution_ref = serializers.CharField()
    kind = serializers.ChoiceField(Kind.choices)
    capability = serializers.CharField()
    status = serializers.ChoiceField(Status.choices)
    side_effect = serializers.ChoiceField(SideEffect.choices)
    retryable = serializers.BooleanField()
    decision_path = serializers.ChoiceField(["deterministic", "fast", "reason", "human"])
    caller_ref = serializers.CharField()
    idempotency_key = serializers.CharField()
    client_ref = serializers.CharField(**_OPTIONAL)
    session_id = serializers.CharField()
    root_session_id = serializers.CharField()
    run_id = serializers.CharField()
    turn_id = serializers.CharField()
    tool_call_id = serializers.CharField()
    correlation_id = serializers.CharField(**_OPTIONAL)
    analysis_ref = serializers.CharField(**_OPTIONAL)
    task_id = serializers.CharField(**_OPTIONAL)
    node_id = serializers.CharField(**_OPTIONAL)
    run_no = serializers.IntegerField(**_OPTIONAL)
    role_ref = serializers.CharField(**_OPTIONAL)
    worker_ref = serializers.CharField(**_OPTIONAL)
    workspace = serializers.CharField(**_OPTIONAL)
    on_behalf_of = serializers.CharField(**_OPTIONAL)
    purpose = serializers.CharField(**_OPTIONAL)
    interruption = serializers.ChoiceField(Interruption.choices)
    timeout_ms = serializers.IntegerField()
    limits = serializers.DictField(**_OPTIONAL)
    approval_ref = serializers.CharField(**_OPTIONAL)
    result = serializers.JSONField(**_OPTIONAL)
    no_value = serializers.BooleanField(**_OPTIONAL)
    error = Fault(**_OPTIONAL)
    evidence = serializers.ListField(child=serializers.DictField())
    artifact_refs = serializers.ListField(child=serializers.CharField())
    round = serializers.IntegerField(
        **_OPTIONAL, help_text="which asking of the key this is, from 1; absent: the first"
    )
    attempt_count = serializers.IntegerField()
    input_fingerprint = serializers.CharField()
    code_sha256 = serializers.CharField(**_OPTIONAL)
    engine = serializers.CharField(**_OPTIONAL)
    isolation = serializers.CharField(**_OPTIONAL)
    selection_reason = serializers.CharField(**_OPTIONAL)
    metrics = serializers.DictField()
    progress = serializers.DictField(**_OPTIONAL)
    unawaited = serializers.ListField(child=serializers.IntegerField(), **_OPTIONAL)
    termination_unconfirmed = serializers.BooleanField(**_OPTIONAL)
    next = Next()
    receipt = LedgerReceipt(**_OPTIONAL)
    held = Holding(**_OPTIONAL)
    cancel_requested = serializers.BooleanField(**_OPTIONAL)
    cancel_reason = serializers.CharField(**_OPTIONAL)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(**_OPTIONAL)
    effect_started_at = serializers.DateTimeField(**_OPTIONAL)
    finished_at = serializers.DateTimeField(**_OPTIONAL)
    expires_at = serializers.DateTimeField(help_text="when what nobody answers ends")
    updated_at = serializers.DateTimeField()


class Call(Schema):
    """One use of a capability; input and result are redacted."""

    call_id = serializers.CharField()
    round = serializers.IntegerField(**_OPTIONAL)
    n = serializers.IntegerField()
    tool = serializers.CharField()
    effect = serializers.ChoiceField([*Effect], allow_blank=True, help_text="empty for a tool that is not there")
    status = serializers.ChoiceField(CallStatus.choices)
    side_effect = serializers.ChoiceField(SideEffect.choices)
    input_digest = serializers.CharField()
    input = serializers.JSONField(allow_null=True)
    paths = serializers.ListField(child=serializers.CharField(), **_OPTIONAL)
    purpose = serializers.CharField(**_OPTIONAL)
    operation_id = serializers.CharField()
    approval_ref = serializers.CharField(**_OPTIONAL)
    result = serializers.JSONField(**_OPTIONAL)
    result_digest = serializers.CharField(**_OPTIONAL)
    error_code = serializers.CharField(**_OPTIONAL)
    evidence = serializers.ListField(child=serializers.DictField(), **_OPTIONAL)
    artifact_refs = serializers.ListField(child=serializers.CharField(), **_OPTIONAL)
    requested_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(**_OPTIONAL)
    ended_at = serializers.DateTimeField(**_OPTIONAL)
    duration_ms = serializers.IntegerField(**_OPTIONAL)


class Attempt(Schema):
    """One worker's try at an execution. `metrics` are the execution's when it ended."""

    number = serializers.IntegerField()
    worker = serializers.CharField()
    isolation = serializers.CharField(**_OPTIONAL)
    guest_pid = serializers.IntegerField(**_OPTIONAL)
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(**_OPTIONAL)
    ending = serializers.CharField(**_OPTIONAL)
    metrics = serializers.DictField()


class LedgerEvent(Schema):
    """One immutable fact. `verified`: its text, columns and link to the one before are as they were hashed."""

    event_id = serializers.CharField()
    seq = serializers.IntegerField()
    kind = serializers.CharField()
    source = serializers.ChoiceField(["forge", "agent", "import"])  # type: ignore[assignment]  # a Field's own name
    operation_id = serializers.CharField(**_OPTIONAL)
    committed_at = serializers.DateTimeField()
    prev_hash = serializers.CharField()
    hash = serializers.CharField()
    verified = serializers.BooleanField()
    payload = serializers.DictField(allow_null=True, help_text="null only where someone damaged it")


class OutputPiece(Schema):
    """Bytes offset..next_offset of a stream, as text."""

    chunk = serializers.CharField(allow_blank=True)
    encoding = serializers.ChoiceField(["utf-8"])
    offset = serializers.IntegerField()
    next_offset = serializers.IntegerField()
    eof = serializers.BooleanField(help_text="the execution has ended and nothing follows")
    artifact_ref = serializers.CharField(**_OPTIONAL)


class Capability(Schema):
    """One tool, and what policy says of this caller's use of it."""

    name = serializers.CharField()
    summary = serializers.CharField()
    effect = serializers.ChoiceField([*Effect])
    risk = serializers.ChoiceField([*Risk])
    recovery_mode = serializers.ChoiceField([*Recovery])
    network = serializers.BooleanField()
    timeout_ms = serializers.IntegerField()
    decision = serializers.ChoiceField(["ALLOW", "REVIEW"])
    input_schema = serializers.DictField()
    result_schema = serializers.DictField()


class Signal(Schema):
    """Something an observer is told; the optional fields are those of the execution, absent when empty."""

    signal_ref = serializers.CharField()
    kind = serializers.ChoiceField(SignalKind.choices)
    execution_ref = serializers.CharField()
    attempt = serializers.IntegerField()
    task_id = serializers.CharField(**_OPTIONAL)
    node_id = serializers.CharField(**_OPTIONAL)
    run_no = serializers.IntegerField(**_OPTIONAL)
    role_ref = serializers.CharField(**_OPTIONAL)
    worker_ref = serializers.CharField(**_OPTIONAL)
    status = serializers.ChoiceField(Status.choices)
    side_effect = serializers.ChoiceField(SideEffect.choices)
    error_code = serializers.CharField(**_OPTIONAL)
    approval_ref = serializers.CharField(**_OPTIONAL)
    approval_state = serializers.CharField(**_OPTIONAL)
    question = serializers.IntegerField(help_text="which one about the approval waits for an answer", **_OPTIONAL)
    created_at = serializers.DateTimeField()


class Acknowledged(Schema):
    """Whether this was the first time."""

    acknowledged = serializers.BooleanField()


class Webhook(Schema):
    """Where signals are sent. `url` for its owner only."""

    webhook_ref = serializers.CharField()
    owner = serializers.CharField()
    origin = serializers.CharField()
    url = serializers.CharField(**_OPTIONAL)
    kinds = serializers.ListField(child=serializers.ChoiceField(SignalKind.choices))
    everything = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class NewWebhook(Webhook):
    """With the secret that signs, this once."""

    secret = serializers.CharField()
