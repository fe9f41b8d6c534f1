"""Calls and attempts, to look at; sealed columns are on no page."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from executions.admin import resolving
from executions.admin.seen import PartAdmin
from executions.models import Attempt, Call
from forge_project.kernel.read_only import moment, pretty, shown


@admin.register(Call)
class CallAdmin(PartAdmin):
    list_display: Any = ["execution", "n", shown("tool", "capability"), "status", "side_effect", shown("error_code"),
                         moment("requested_at", "requested")]  # fmt: skip
    list_display_links = ["n"]
    list_filter = ["status", "side_effect", "effect"]
    list_select_related = ["execution"]
    search_fields = ["=execution__ref", "=call_id", "=tool", "=operation_id"]
    search_help_text = "a whole execution ref, call id, operation id or capability"
    ordering = ["-requested_at", "-pk"]
    fields: ClassVar[Any] = [
        "execution", "n", shown("call_id"), shown("tool", "capability"), "effect", "recovery_mode", "status",
        "side_effect", shown("error_code"), shown("purpose", "purpose, in the agent's words"), "approval_ref",
        "times_asked", pretty("shown_input", "input, redacted"), pretty("shown_result", "result, redacted"),
        pretty("paths"), pretty("evidence"), pretty("artifact_refs"), "attempt", "operation_id", "input_digest",
        "result_digest", moment("requested_at"), moment("started_at"), moment("ended_at"),
    ]  # fmt: skip
    readonly_fields = fields
    change_form_template = "admin/executions/call/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        """What became of an unknown one is said at an address of its own."""
        ours = path("<int:pk>/resolve/", self.admin_site.admin_view(self.resolve_view), name="executions_call_resolve")
        return [ours, *super().get_urls()]

    def resolve_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The page to look at, by GET; one operator's answer, by POST."""
        return resolving.answer(self, request, pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With the way to the page where an unknown one is resolved, for who may."""
        told = {"may_resolve": resolving.may(request.user)}
        return super().change_view(request, object_id, form_url, (extra_context or {}) | told)


@admin.register(Attempt)
class AttemptAdmin(PartAdmin):
    list_display: Any = ["execution", "number", "worker", moment("started_at", "started"), moment("ended_at", "ended"),
                         "ending"]  # fmt: skip
    list_display_links = ["number"]
    list_select_related = ["execution", "worker"]
    search_fields = ["=execution__ref"]
    search_help_text = "a whole execution ref"
    ordering = ["-started_at", "-pk"]
    fields: ClassVar[Any] = [
        "execution", "number", "worker", "isolation", "guest_pid", moment("started_at"), moment("ended_at"), "ending",
        pretty("metrics"),
    ]  # fmt: skip
    readonly_fields = fields
