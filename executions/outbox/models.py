"""The outbox's rows."""

from django.db import models

REF = 40


class SignalKind(models.TextChoices):
    """What is told."""

    EXECUTION_FINISHED = "EXECUTION_FINISHED"
    APPROVAL_REQUESTED = "APPROVAL_REQUESTED"
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
    created_at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        permissions = [("acknowledge_signal", "Can see and acknowledge everybody's signals")]
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=SignalKind.values), name="signal_kind"),
        ]
        indexes = [
            models.Index(
                fields=["created_at", "ref"], condition=models.Q(acknowledged_at=None), name="signal_unacknowledged"
            ),
        ]

    def __str__(self) -> str:
        return self.ref
