"""The ledger's events, to look at."""

from typing import Any, ClassVar

from django.contrib import admin

from forge_project.kernel.read_only import ReadOnlyAdmin, pretty, shown
from forge_project.ledger.models import Event
from forge_project.ledger.verify import verify


@admin.display(description="verified now")
def verified(event: Event) -> str:
    """Whether the whole chain the event stands in holds at this moment."""
    found = verify(event.invocation_id).findings
    return "; ".join(f"BROKEN at seq {each.seq}: {each.problem}" for each in found) or "yes, its whole chain"


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display: Any = ["seq", shown("invocation_id", "invocation"), shown("kind"), "source", "committed_at",
                         shown("hash", first=12)]  # fmt: skip
    list_filter = ["source"]
    search_fields = ["=invocation__id", "=event_id", "=operation_id", "=kind"]
    search_help_text = "a whole invocation id, event id, operation id or kind"
    ordering = ["-id"]
    fields: ClassVar[Any] = [
        shown("invocation_id", "invocation"), "seq", shown("event_id"), shown("owner"), shown("kind"), "source",
        shown("operation_id"), "committed_at", pretty("payload"), "prev_hash", "hash", verified,
    ]  # fmt: skip
    readonly_fields = fields
