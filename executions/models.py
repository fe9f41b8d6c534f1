"""Executions, their calls and attempts; workers; workspaces. Status columns are written by transitions.move only."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from executions.bounds import CallerDay, CallerLoad, CallerRefused, Hold  # noqa: F401  # tables of this app too
from executions.outbox.models import Delivery, Signal, Webhook  # noqa: F401  # Django looks for models here
from executions.states import (
    LIVE,
    Access,
    CallStatus,
    Interruption,
    Isolation,
    Kind,
    SideEffect,
    Status,
    WorkspaceKind,
    legal_pairs,
)

REF = 40
ID = 150
DIGEST = 120


class Workspace(models.Model):
    """A directory agents may work in, registered by an operator under a name."""

    name = models.SlugField(unique=True, max_length=80)
    kind = models.CharField(max_length=20, choices=WorkspaceKind, default=WorkspaceKind.DIRECTORY)
    path = models.CharField(max_length=1000)
    hosts = models.JSONField(default=list, help_text="FORGE_HOST_ID of each host that serves it")
    isolation = models.CharField(max_length=20, choices=Isolation, default=Isolation.SHARED)
    network_hosts = models.JSONField(default=list, blank=True, help_text="what its calls may read without a person")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(isolation__in=Isolation.values), name="workspace_isolation")]

    def __str__(self) -> str:
        return self.name


class WorkspaceAccess(models.Model):
    """That this account may use this workspace."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="access")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    mode = models.CharField(max_length=10, choices=Access, default=Access.WRITE)

    class Meta:
        verbose_name_plural = "workspace access"
        constraints = [models.UniqueConstraint(fields=["workspace", "user"], name="access_once")]

    def __str__(self) -> str:
        return f"{self.user} on {self.workspace} ({self.mode})"


class Worker(models.Model):
    """One running worker process, kept alive by its heartbeat (the database's clock)."""

    id = models.UUIDField(primary_key=True)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    start_time = models.PositiveBigIntegerField(help_text="clock ticks since boot, from /proc")
    boot_id = models.CharField(max_length=40)
    pid_namespace = models.CharField(max_length=40)
    isolation = models.CharField(max_length=20, default="")
    engine = models.CharField(max_length=80, default="")
    started_at = models.DateTimeField()
    heartbeat = models.DateTimeField(db_index=True)
    stopped_at = models.DateTimeField(null=True, blank=True)
    dead_at = models.DateTimeField(null=True, blank=True, help_text="when its death was proven, or said by an operator")

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


class Execution(models.Model):
    """One accepted request. `sealed_*` are encrypted; `shown_*` are redacted JSON for people."""

    ref = models.CharField(primary_key=True, max_length=REF)
    kind = models.CharField(max_length=10, choices=Kind)
    capability = models.CharField(max_length=ID)
    status = models.CharField(max_length=20, choices=Status, default=Status.VALIDATING)
    side_effect = models.CharField(max_length=20, choices=SideEffect, default=SideEffect.NOT_STARTED)

    caller = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="executions")
    caller_ref = models.CharField(max_length=200)
    on_behalf_of = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    workspace = models.ForeignKey(Workspace, models.PROTECT, null=True, blank=True, related_name="+")
    idempotency_key = models.CharField(max_length=ID)
    client_ref = models.CharField(max_length=ID, blank=True, default="")
    session_id = models.CharField(max_length=ID)
    root_session_id = models.CharField(max_length=ID, db_index=True)
    run_id = models.CharField(max_length=ID)
    turn_id = models.CharField(max_length=ID)
    tool_call_id = models.CharField(max_length=ID)
    correlation_id = models.CharField(max_length=ID, blank=True, default="")
    traceparent = models.CharField(max_length=55, blank=True, default="")  # W3C's, of the request that made it
    scope = models.JSONField(default=dict, help_text="task_id, node_id, run_no, role_ref, worker_ref as given")
    analysis_ref = models.CharField(max_length=ID, blank=True, default="", help_text="an outside analysis job")
    purpose = models.CharField(max_length=500, blank=True, default="")
    interruption = models.CharField(max_length=10, choices=Interruption, default=Interruption.FAIL)
    timeout_ms = models.PositiveIntegerField()
    limits = models.JSONField(default=dict)
    input_fingerprint = models.CharField(max_length=DIGEST)
    code_sha256 = models.CharField(max_length=64, blank=True, default="")
    sealed_request = models.BinaryField()
    sealed_start = models.BinaryField(null=True)

    round = models.PositiveIntegerField(default=0, help_text="how often its key has asked again")
    attempt = models.PositiveIntegerField(default=0)
    worker = models.ForeignKey(Worker, models.PROTECT, null=True, blank=True, related_name="+")
    turns = models.PositiveIntegerField(default=0)
    crashes = models.PositiveIntegerField(default=0, help_text="attempts in a row that died without a new turn")
    active_ms = models.PositiveBigIntegerField(default=0)
    cpu_ms = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0, help_text="of its input, results and output")
    bytes_told = models.PositiveBigIntegerField(default=0, help_text="of them, on its caller's days")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_by = models.CharField(max_length=200, blank=True, default="")
    cancel_reason = models.CharField(max_length=500, blank=True, default="")
    due_at = models.DateTimeField(null=True, blank=True)
    hold = models.ForeignKey(Hold, models.PROTECT, null=True, blank=True, related_name="+", help_text="met last")
    expires_at = models.DateTimeField()

    sealed_result = models.BinaryField(null=True)
    shown_result = models.TextField(blank=True, default="")
    no_value = models.BooleanField(default=False)
    error_code = models.CharField(max_length=40, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    error_details = models.JSONField(default=dict)
    retryable = models.BooleanField(default=False)
    decision_path = models.CharField(max_length=20, default="deterministic")
    unawaited = models.JSONField(default=list)
    engine = models.CharField(max_length=80, blank=True, default="")
    isolation = models.CharField(max_length=20, blank=True, default="")
    selection_reason = models.CharField(max_length=200, blank=True, default="")
    metrics = models.JSONField(default=dict)
    progress = models.JSONField(null=True, blank=True)
    termination_unconfirmed = models.BooleanField(default=False)
    quarantined = models.CharField(max_length=500, blank=True, default="")

    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    effect_started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField()

    class Meta:
        permissions = [
            ("cancel_execution", "Can cancel executions"),
            ("resolve_execution", "Can resolve unknown calls"),
        ]
        constraints = [
            models.CheckConstraint(condition=legal_pairs(), name="execution_legal_pair"),
            models.CheckConstraint(
                condition=~Q(status=Status.SUCCEEDED) | (Q(error_code="") & (Q(no_value=True) | ~Q(shown_result=""))),
                name="execution_success_has_result",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=[Status.FAILED, Status.TIMED_OUT, Status.CANCELLED, Status.UNKNOWN])
                | ~Q(error_code=""),
                name="execution_failure_has_error",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[Status.RUNNING, Status.STOPPING], worker__isnull=False)
                | (~Q(status__in=[Status.RUNNING, Status.STOPPING]) & Q(worker__isnull=True)),
                name="execution_lease_while_running",
            ),
            models.UniqueConstraint(fields=["caller", "capability", "idempotency_key"], name="execution_key_once"),
            models.UniqueConstraint(
                fields=["caller", "client_ref"], condition=~Q(client_ref=""), name="execution_client_ref_once"
            ),
        ]
        indexes = [
            models.Index(fields=["created_at"], condition=Q(status=Status.QUEUED), name="execution_queue"),
            models.Index(fields=["status"], condition=Q(status__in=LIVE), name="execution_live"),
            models.Index(fields=["caller", "-created_at"], name="execution_by_caller"),
        ]

    def __str__(self) -> str:
        return self.ref

    @property
    def invocation_id(self) -> str:
        """The chain of its current round."""
        return f"{self.ref}~{self.round}" if self.round else self.ref


class Call(models.Model):
    """One use of a capability inside an execution; `n` from 1 in each round."""

    execution = models.ForeignKey(Execution, models.PROTECT, related_name="calls")
    round = models.PositiveIntegerField(default=0)
    n = models.PositiveIntegerField()
    call_id = models.CharField(max_length=200)
    operation_id = models.CharField(max_length=60, unique=True)
    tool = models.CharField(max_length=ID)
    effect = models.CharField(max_length=10)
    recovery_mode = models.CharField(max_length=20)
    status = models.CharField(max_length=20, choices=CallStatus, default=CallStatus.REQUESTED)
    side_effect = models.CharField(max_length=20, choices=SideEffect, default=SideEffect.NOT_STARTED)
    input_digest = models.CharField(max_length=DIGEST)
    sealed_input = models.BinaryField()
    shown_input = models.TextField()
    paths = models.JSONField(default=list)
    purpose = models.CharField(max_length=500, blank=True, default="")
    attempt = models.PositiveIntegerField(default=0, help_text="the attempt that dispatched it")
    approval_ref = models.CharField(max_length=REF, blank=True, default="")
    times_asked = models.PositiveIntegerField(default=0)
    sealed_precondition = models.BinaryField(null=True)
    sealed_result = models.BinaryField(null=True, help_text="what the guest is told: {ok, value or error}")
    shown_result = models.TextField(blank=True, default="")
    result_digest = models.CharField(max_length=DIGEST, blank=True, default="")
    error_code = models.CharField(max_length=40, blank=True, default="")
    evidence = models.JSONField(default=list)
    artifact_refs = models.JSONField(default=list)
    requested_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["execution", "round", "n"], name="call_n_once"),
            models.CheckConstraint(condition=Q(status__in=CallStatus.values), name="call_status"),
            models.CheckConstraint(
                condition=~Q(status=CallStatus.UNKNOWN) | Q(side_effect=SideEffect.UNKNOWN), name="call_unknown"
            ),
        ]

    def __str__(self) -> str:
        return self.call_id


class Attempt(models.Model):
    """One worker's try at an execution; kept for good."""

    execution = models.ForeignKey(Execution, models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="+")
    isolation = models.CharField(max_length=20, blank=True, default="")
    guest_pid = models.PositiveIntegerField(null=True, blank=True)
    guest_start_time = models.PositiveBigIntegerField(null=True, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    ending = models.CharField(max_length=60, blank=True, default="")
    metrics = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["execution", "number"], name="attempt_number_once")]

    def __str__(self) -> str:
        return f"{self.execution_id}#{self.number}"


class Output(models.Model):
    """What one turn added to a stream: redacted text, in order."""

    execution = models.ForeignKey(Execution, models.PROTECT, related_name="output")
    stream = models.CharField(max_length=10)
    offset = models.PositiveBigIntegerField(help_text="bytes of UTF-8 before this piece")
    text = models.TextField()
    in_key = models.BooleanField(default=False, help_text="a private key began here and goes on in the next piece")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["execution", "stream", "offset"], name="output_offset_once")]

    def __str__(self) -> str:
        return f"{self.execution_id} {self.stream} {self.offset}"


class SessionValue(models.Model):
    """One key of a session's state, of one caller in one workspace; `version` tells a later writer that it changed."""

    caller = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    workspace = models.CharField(max_length=80, blank=True, default="")
    session_id = models.CharField(max_length=ID)
    key = models.CharField(max_length=200)  # as the guest's protocol allows
    sealed_value = models.BinaryField(null=True, help_text="null: deleted")
    version = models.PositiveBigIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["caller", "workspace", "session_id", "key"], name="session_key_once")
        ]

    def __str__(self) -> str:
        return f"{self.session_id}/{self.key}"
