"""The worker processes, to look at."""

from typing import Any, ClassVar

from django.contrib import admin

from executions.admin.seen import PartAdmin
from executions.models import Worker
from forge_project.kernel.read_only import moment


@admin.register(Worker)
class WorkerAdmin(PartAdmin):
    list_display: Any = ["host", "pid", "isolation", "engine", moment("started_at", "started"), moment("heartbeat"),
                         moment("stopped_at", "stopped"), moment("dead_at", "proven dead")]  # fmt: skip
    search_fields = ["=host"]
    search_help_text = "a whole host id"
    ordering = ["-heartbeat"]
    fields: ClassVar[Any] = ["id", "host", "pid", "start_time", "boot_id", "pid_namespace", "isolation", "engine",
                   moment("started_at"), moment("heartbeat"), moment("stopped_at"), moment("dead_at")]  # fmt: skip
    readonly_fields = fields
