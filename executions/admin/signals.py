"""The outbox, to look at."""

from typing import Any, ClassVar

from django.contrib import admin

from executions.admin.seen import PartAdmin
from executions.outbox.models import Signal
from forge_project.kernel.read_only import moment, shown


@admin.register(Signal)
class SignalAdmin(PartAdmin):
    list_display: Any = ["ref", "kind", shown("execution_id", "execution"), "status", "attempt",
                         moment("created_at", "created"), moment("acknowledged_at", "acknowledged")]  # fmt: skip
    list_filter = ["kind", ("acknowledged_at", admin.EmptyFieldListFilter)]
    search_fields = ["=ref", "=execution__ref"]
    search_help_text = "a whole signal or execution ref"
    ordering = ["-created_at", "-ref"]
    fields: ClassVar[Any] = ["ref", "kind", shown("execution_id", "execution"), "attempt", "status", "side_effect",
                   shown("error_code"), shown("approval_ref"), shown("approval_state"), moment("created_at"),
                   moment("acknowledged_at"), shown("acknowledged_by")]  # fmt: skip
    readonly_fields = fields
