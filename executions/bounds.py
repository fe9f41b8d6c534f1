"""What holds callers back: how much each one runs, waits for and stores. A part of the models."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class CallerLoad(models.Model):
    """How much of Forge one caller holds; changed by conditional UPDATE in the transaction of the change itself."""

    caller = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    running = models.PositiveIntegerField(default=0)
    queued = models.PositiveIntegerField(default=0)
    served_at = models.DateTimeField(null=True, blank=True, help_text="its last claim: who waits longest is next")

    class Meta:
        app_label = "executions"

    def __str__(self) -> str:
        return f"{self.caller_id}: {self.running} running, {self.queued} queued"


class CallerRefused(models.Model):
    """How many requests of one caller were over one cap, named by its rule; nothing else of them is stored."""

    caller = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    rule = models.CharField(max_length=40)
    times = models.PositiveBigIntegerField(default=0)

    class Meta:
        app_label = "executions"
        constraints = [models.UniqueConstraint(fields=["caller", "rule"], name="caller_refused_once")]

    def __str__(self) -> str:
        return f"{self.caller_id} over {self.rule}: {self.times}"


class CallerDay(models.Model):
    """The bytes of requests, results and output that one caller made Forge keep on one day (UTC)."""

    caller = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    day = models.DateField()
    bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        app_label = "executions"
        constraints = [models.UniqueConstraint(fields=["caller", "day"], name="caller_day_once")]

    def __str__(self) -> str:
        return f"{self.caller_id} on {self.day}: {self.bytes} bytes"


class HeldKind(models.TextChoices):
    """What a hold covers."""

    EVERYTHING = "everything"
    CALLER = "caller"
    WORKSPACE = "workspace"
    CAPABILITY = "capability"


class Hold(models.Model):
    """That nothing of a kind is dispatched any more, from when and why, until it is released; kept for good."""

    kind = models.CharField(max_length=20, choices=HeldKind)
    target = models.CharField(max_length=150, blank=True, default="", help_text="its name; empty for everything")
    reason = models.CharField(max_length=500)
    placed_by = models.CharField(max_length=200)
    placed_at = models.DateTimeField()
    released_by = models.CharField(max_length=200, blank=True, default="")
    released_at = models.DateTimeField(null=True, blank=True)
    release_reason = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        app_label = "executions"
        constraints = [
            models.UniqueConstraint(fields=["kind", "target"], condition=Q(released_at=None), name="hold_once"),
            models.CheckConstraint(
                condition=Q(kind=HeldKind.EVERYTHING, target="") | (~Q(kind=HeldKind.EVERYTHING) & ~Q(target="")),
                name="hold_has_target",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()
