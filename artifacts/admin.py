"""The artifacts' records, to look at; never their content."""

from typing import Any, ClassVar

from django.contrib import admin

from artifacts.models import Artifact
from forge_project.kernel.read_only import ReadOnlyAdmin, moment, pretty, shown


@admin.register(Artifact)
class ArtifactAdmin(ReadOnlyAdmin):
    list_display: Any = [
        "ref", "kind", shown("owner"), shown("mime"), "bytes", shown("sha256", first=12), moment("created_at"),
    ]  # fmt: skip
    list_filter = ["kind", "stream"]
    search_fields = ["=ref", "=sha256", "=execution_ref", "=owner"]
    search_help_text = "a whole ref, SHA-256, execution ref or owner"
    ordering = ["-created_at", "-ref"]
    fields: ClassVar[Any] = [
        "ref", "kind", shown("owner"), shown("workspace"), pretty("scopes"), "sha256", shown("mime"), "bytes",
        pretty("metadata"), shown("execution_ref"), shown("call_id"), shown("stream"), moment("created_at"),
    ]  # fmt: skip
    readonly_fields = fields
