"""The outbox's rows."""

from django.conf import settings
from django.db import models
from django.db.models import Q

REF = 40


class SignalKind(models.TextChoices):
    """What is told."""

    EXECUTION_FINISHED = "EXECUTION_FINISHED"
    APPROVAL_REQUESTED = "APPROVAL_REQUESTED"
    APPROVAL_QUESTION = "APPROVAL_QUESTION"
    APPROVAL_DECIDED = "APPROVAL_DECIDED"
    RECOVERY_RESUME = "RECOVERY_RESUME"
    UNKNOWN_REALITY = "UNKNOWN_REALITY"


class Signal(models.Model):
    """One thing to be told about an execution, as it was then; kept in the list until it is acknowledged."""

    ref = models.CharField(primary_key=True, max_length=REF)
    kind = models.CharField(max_length=20, choices=SignalKind)
    execution = models.ForeignKey("executions.Execution", models.PROTECT, related_name="signals")
    attempt = models.PositiveIntegerField()
    status = models.CharField(max_length=20)
    side_effect = models.CharField(max_length=20)
    error_code = models.CharField(max_length=40, blank=True, default="")
    approval_ref = models.CharField(max_length=REF, blank=True, default="")
    approval_state = models.CharField(max_length=10, blank=True, default="")
    question = models.PositiveIntegerField(default=0)  # of the approval, to the agent; 0 = none
    created_at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        permissions = [("acknowledge_signal", "Can see and acknowledge everybody's signals")]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=SignalKind.values), name="signal_kind"),
        ]
        indexes = [
            models.Index(fields=["created_at", "ref"], condition=Q(acknowledged_at=None), name="signal_unacknowledged"),
        ]

    def __str__(self) -> str:
        return self.ref


class Webhook(models.Model):
    """Where an account wants signals sent. Its URL and its signing secret are sealed; `origin` may be shown."""

    ref = models.CharField(primary_key=True, max_length=REF)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    origin = models.CharField(max_length=300)
    sealed_target = models.BinaryField(help_text="{url, secret}")
    kinds = models.JSONField()
    everything = models.BooleanField(default=False, help_text="everybody's executions, not the owner's alone")
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)  # the row stays: a signal may be on its way to it

    class Meta:
        permissions = [("manage_webhook", "Can subscribe to everybody's signals, delete webhooks, retry deliveries")]

    def __str__(self) -> str:
        return self.ref


class DeliveryState(models.TextChoices):
    """Where one delivery stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


class Delivery(models.Model):
    """One signal on its way to one webhook; `due_at` is also the lease of who tries it."""

    webhook = models.ForeignKey(Webhook, models.PROTECT, related_name="deliveries")
    signal = models.ForeignKey(Signal, models.PROTECT, related_name="deliveries")
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField()
    answer = models.PositiveIntegerField(null=True, blank=True, help_text="the last HTTP status")
    error = models.CharField(max_length=200, blank=True, default="")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "signal"], name="delivery_once"),
            models.CheckConstraint(condition=Q(state__in=DeliveryState.values), name="delivery_state"),
        ]
        indexes = [models.Index(fields=["due_at"], condition=Q(state="pending"), name="delivery_due")]

    def __str__(self) -> str:
        return f"{self.signal_id} to {self.webhook_id}"
