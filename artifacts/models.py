"""Records of immutable content; the bytes are files named by their digest (storage.py)."""

from django.db import models
from django.db.models import Q

ID = 200


class Kind(models.TextChoices):
    """What an artifact is for."""

    OUTPUT = "output"
    REPORT = "report"
    EXTERNAL_FILE = "external-file"
    CONTEXT_PACK = "context-pack"
    PATCH_PROPOSAL = "patch-proposal"
    SCREENSHOT = "screenshot"


class Artifact(models.Model):
    """One immutable record; a trigger refuses every UPDATE."""

    ref = models.CharField(primary_key=True, max_length=40)
    kind = models.CharField(max_length=20, choices=Kind)
    owner = models.CharField(max_length=ID)  # caller_ref
    workspace = models.CharField(max_length=ID, blank=True, default="")
    scopes = models.TextField()  # JSON object: task, node, role, worker where the request named them
    sha256 = models.CharField(max_length=64)
    mime = models.CharField(max_length=ID)
    bytes = models.PositiveBigIntegerField()
    metadata = models.TextField()  # JSON object
    execution_ref = models.CharField(max_length=ID, blank=True, default="")
    call_id = models.CharField(max_length=ID, blank=True, default="")
    stream = models.CharField(max_length=20, blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "created_at"], name="artifact_of_owner"),
            models.Index(fields=["execution_ref", "stream"], name="artifact_of_execution"),
            models.Index(fields=["sha256"], name="artifact_content"),
        ]
        constraints = [models.CheckConstraint(condition=Q(kind__in=Kind.values), name="artifact_kind")]

    def __str__(self) -> str:
        return self.ref
