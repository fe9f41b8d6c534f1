"""The ledger's events, and one invocation's story, to look at."""

from itertools import islice
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from forge_project.kernel import visible
from forge_project.kernel.read_only import ReadOnlyAdmin, pretty, shown
from forge_project.ledger import selectors
from forge_project.ledger.models import Event, Invocation
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


_EVENTS_SHOWN = 500


@admin.display(description="story")
def story(row: Invocation) -> SafeString:
    """The family's events in order: when, what, from whom, its hash, and whether the chain holds up to it."""
    broken: dict[str, int] = {}
    for found in verify(row.pk).findings:
        broken[found.invocation] = min(found.seq, broken.get(found.invocation, found.seq))
    lines = (
        (
            event.invocation_id.removeprefix(row.pk) or "",
            event.seq,
            f"{event.committed_at[:10]} {event.committed_at[11:23]} UTC",
            visible.content(event.kind)[0],
            event.source,
            event.hash[:12],
            "verified" if event.seq < broken.get(event.invocation_id, event.seq + 1) else "BROKEN",
        )
        for event in islice(selectors.family_events(row.pk), _EVENTS_SHOWN)
    )
    cells = "<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td></tr>"
    head = (
        "<thead><tr><th>seq</th><th>committed</th><th>kind</th><th>source</th><th>hash</th><th>chain</th></tr></thead>"
    )
    return format_html("<table>" + head + "<tbody>{}</tbody></table>", format_html_join("", cells, lines))


@admin.display(description="sealed")
def ended(row: Invocation) -> str:
    """When its terminal event was committed."""
    return row.sealed_at or "-"


@admin.register(Invocation)
class InvocationAdmin(ReadOnlyAdmin):
    list_display: Any = [shown("id", "invocation"), shown("owner"), shown("session_id", "session"), "opened_by",
                         shown("head_seq", "events"), ended]  # fmt: skip
    list_filter = ["opened_by"]
    search_fields = ["=id", "=owner", "=session_id", "=run_id"]
    search_help_text = "a whole invocation id, owner, session or run"
    ordering = ["id"]
    fields: ClassVar[Any] = [
        shown("id", "invocation"), shown("owner"), shown("session_id", "session"), shown("run_id", "run"),
        shown("turn_id", "turn"), "opened_by", shown("follows"), "successors", ended,
        shown("head_seq", "events"), shown("head_hash", "head"), "checkpointed_seq", story,
    ]  # fmt: skip
    readonly_fields = fields

    def heading(self, row: Any) -> str:
        """Never the id: an agent may have chosen it."""
        return "invocation"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see events."""
        return request.user.has_perm("ledger.view_event")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As above."""
        return request.user.has_perm("ledger.view_event")
