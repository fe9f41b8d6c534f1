"""Webhooks and their deliveries, to look at; dead ones are tried again by operators."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from executions.admin.seen import PartAdmin
from executions.outbox.models import Delivery, Webhook
from executions.services.webhooks.deliver import retry
from forge_project.kernel.errors import ForgeError
from forge_project.kernel.read_only import moment, pretty, shown


@admin.register(Webhook)
class WebhookAdmin(PartAdmin):
    list_display: Any = ["ref", shown("owner"), shown("origin"), "everything", moment("created_at", "created"),
                         moment("deleted_at", "deleted")]  # fmt: skip
    list_select_related = ["owner"]
    search_fields = ["=ref", "=owner__username"]
    search_help_text = "a whole ref or owner"
    ordering = ["-created_at", "-ref"]
    fields: ClassVar[Any] = ["ref", shown("owner"), shown("origin"), pretty("kinds"), "everything",
                   moment("created_at"), moment("deleted_at")]  # fmt: skip
    readonly_fields = fields


@admin.register(Delivery)
class DeliveryAdmin(PartAdmin):
    list_display: Any = ["id", "state", shown("signal_id", "signal"), shown("webhook"), "attempts", "answer",
                         shown("error"), moment("due_at", "due"), moment("ended_at", "ended")]  # fmt: skip
    list_filter = ["state"]
    list_select_related = ["webhook"]
    search_fields = ["=signal__ref", "=webhook__ref"]
    search_help_text = "a whole signal or webhook ref"
    ordering = ["-pk"]
    actions = ["try_again"]
    fields: ClassVar[Any] = ["id", "state", shown("signal_id", "signal"), shown("webhook"), "attempts", "answer",
                   shown("error"), moment("due_at"), moment("ended_at")]  # fmt: skip
    readonly_fields = fields

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Operators."""
        return request.user.has_perm("executions.manage_webhook") and self.has_view_permission(request)

    @admin.action(description="Try selected dead deliveries again", permissions=["retry"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """One refusal leaves the others alone."""
        for row in queryset:
            try:
                retry(row.pk, request.user)  # type: ignore[arg-type]  # the admin lets nobody anonymous in
            except ForgeError as refusal:
                self.message_user(request, f"{row.pk}: {refusal.message}", messages.WARNING)
            else:
                self.message_user(request, f"{row.pk} is tried again", messages.SUCCESS)
