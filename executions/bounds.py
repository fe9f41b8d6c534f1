"""What holds callers back: how much each one runs, waits for and stores. A part of the models."""

from django.conf import settings
from django.db import models


class CallerLoad(models.Model):
    """How much of Forge one caller holds; changed by conditional UPDATE in the transaction of the change itself."""

    caller = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    running = models.PositiveIntegerField(default=0)
    queued = models.PositiveIntegerField(default=0)
    served_at = models.DateTimeField(null=True, blank=True, help_text="its last claim: who waits longest is next")
    refused = models.PositiveBigIntegerField(default=0, help_text="requests over a cap, of which nothing is stored")

    class Meta:
        app_label = "executions"

    def __str__(self) -> str:
        return f"{self.caller_id}: {self.running} running, {self.queued} queued"


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
