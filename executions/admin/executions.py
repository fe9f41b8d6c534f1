"""The executions: a list to filter and cancel from, and one page with an execution's whole story."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from executions.admin import attention, audit
from executions.admin.seen import PartAdmin
from executions.admin.story import story
from executions.models import Execution
from executions.services.cancel import Cancel, cancel
from forge_project.kernel import actors
from forge_project.kernel.errors import ForgeError
from forge_project.kernel.read_only import moment, pretty, shown

admin.site.index_template = "admin/forge/index.html"  # with the live counts


@admin.register(Execution)
class ExecutionAdmin(PartAdmin):
    change_form_template = "admin/executions/execution/change_form.html"
    change_list_template = "admin/executions/execution/change_list.html"
    list_display: Any = [
        "ref", "status", "side_effect", "kind", "capability", "caller", moment("created_at", "created"),
    ]  # fmt: skip
    list_filter = ["status", "side_effect", "kind"]
    list_select_related = ["caller"]
    search_fields = ["=ref", "=capability", "=caller__username", "=session_id", "=root_session_id"]
    search_help_text = "a whole ref, capability, caller or session id"
    ordering = ["-created_at", "-ref"]
    actions = ["cancel_selected"]
    fieldsets: ClassVar[Any] = [
        (None, {"fields": [
            "ref", "status", "side_effect", "kind", "capability", shown("caller"), shown("on_behalf_of"),
            shown("workspace"),
            moment("created_at"), moment("started_at"), moment("finished_at"),
        ]}),
        ("The agent's words", {"fields": [
            shown("purpose"), shown("client_ref"), shown("idempotency_key"), shown("session_id"),
            shown("root_session_id"), shown("run_id"), shown("turn_id"), shown("tool_call_id"),
            shown("correlation_id"), shown("analysis_ref"), pretty("scope"),
        ]}),
        ("How it ended", {"fields": [
            shown("error_code"), shown("error_message"), pretty("error_details"), "retryable", "decision_path",
            pretty("shown_result", "result, redacted"), pretty("unawaited"), shown("cancel_requested_by"),
            shown("cancel_reason"),
        ]}),
        ("How it runs", {"classes": ["collapse"], "fields": [
            "round", "attempt", "turns", "crashes", "interruption", "timeout_ms", "active_ms", "cpu_ms", "isolation",
            shown("engine"), shown("selection_reason"), pretty("limits"),
            pretty("metrics"), pretty("progress"), moment("due_at"), shown("hold"),
            moment("expires_at"), "termination_unconfirmed", shown("quarantined"), "input_fingerprint", "code_sha256",
        ]}),
    ]  # fmt: skip
    readonly_fields: ClassVar[Any] = [field for _, part in fieldsets for field in part["fields"]]

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        """Operators."""
        return request.user.has_perm("executions.cancel_execution") and self.has_view_permission(request)

    @admin.action(description="Cancel selected executions", permissions=["cancel"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Execution]) -> None:
        """One refusal leaves the others alone."""
        for execution in queryset:
            self._cancel(request, execution.ref, "cancelled in the admin")

    def cancel_view(self, request: HttpRequest, ref: str) -> HttpResponse:
        """One of them, with a reason, by POST alone."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_cancel_permission(request):
            raise PermissionDenied
        if self.get_object(request, ref) is None:
            raise Http404("no such execution")
        self._cancel(request, ref, request.POST.get("reason", ""))
        return HttpResponseRedirect(reverse("admin:executions_execution_change", args=[ref]))

    def _cancel(self, request: HttpRequest, ref: str, reason: str) -> None:
        try:
            left = cancel(Cancel(execution_ref=ref, actor=actors.of(request.user), reason=reason))
        except ForgeError as refusal:
            self.message_user(request, f"{ref}: {refusal.message}", messages.WARNING)
        else:
            told = "is cancelled" if left.status == "cancelled" else "is asked to stop"
            self.message_user(request, f"{ref} {told}", messages.SUCCESS)

    def get_urls(self) -> list[URLPattern]:
        """What needs attention, and each one's audit."""
        guarded = self.admin_site.admin_view
        ours = [
            path("attention/", guarded(self.attention_view), name="executions_execution_attention"),
            path("<str:ref>/cancel/", guarded(self.cancel_view), name="executions_execution_cancel"),
            path("<str:ref>/audit/", guarded(self.audit_view), name="executions_execution_audit"),
            path("<str:ref>/audit.json", guarded(self.audit_json_view), name="executions_execution_audit_json"),
        ]
        return [*ours, *super().get_urls()]

    def attention_view(self, request: HttpRequest) -> HttpResponse:
        """What somebody must look at."""
        return self._look(request) or attention.page(self, request)

    def audit_view(self, request: HttpRequest, ref: str) -> HttpResponse:
        """The whole story."""
        return self._look(request) or audit.page(self, request, ref)

    def audit_json_view(self, request: HttpRequest, ref: str) -> HttpResponse:
        """The whole story as a file."""
        return self._look(request) or audit.as_json(ref)

    def _look(self, request: HttpRequest) -> HttpResponse | None:
        """Pages to look at take nothing."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return None if request.method in ("GET", "HEAD") else HttpResponseNotAllowed(["GET", "HEAD"])

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The execution with its calls, attempts, output, approvals and events."""
        told = story(unquote(object_id)) | {"may_cancel": self.has_cancel_permission(request)}
        return super().change_view(request, object_id, form_url, (extra_context or {}) | told)
