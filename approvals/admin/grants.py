"""Standing grants: what passes without a further question, and its end."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest

from approvals.models import Grant
from approvals.services import RevokeGrant, revoke_grant
from forge_project.kernel.errors import ForgeError
from forge_project.kernel.read_only import ReadOnlyAdmin, moment, shown


class ReasonForm(ActionForm):
    """Beside the action: why."""

    reason = forms.CharField(required=False, max_length=500)


@admin.register(Grant)
class GrantAdmin(ReadOnlyAdmin):
    list_display: Any = ["ref", shown("sentence"), "uses", "max_uses", moment("lives_until", "until"),
                         moment("ended_at", "ended")]  # fmt: skip
    list_select_related = ["caller"]
    search_fields = ["=ref", "=caller__username", "=capability"]
    search_help_text = "a whole grant ref, caller or capability"
    ordering = ["-created_at"]
    actions = ["revoke"]
    action_form = ReasonForm
    _shown: Any = ["ref", shown("sentence"), shown("source_id", "made at"), shown("rule"), "rule_version",
                   "votes_needed", "uses", "max_uses", moment("created_at"), moment("lives_until", "until"),
                   moment("ended_at"), shown("ended_by"), shown("end_reason")]  # fmt: skip

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All of it."""
        return self._shown

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All of it."""
        return self._shown

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Who sees approvals."""
        return request.user.has_perm("approvals.view_approval")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As `has_view_permission`."""
        return self.has_view_permission(request)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Who decides approvals; the service looks again."""
        return request.user.has_perm("approvals.decide_approval")

    @admin.action(description="Revoke selected grants (say why)", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Grant]) -> None:
        """One refusal leaves the others alone."""
        for grant in queryset:
            try:
                revoke_grant(
                    RevokeGrant(grant_ref=grant.pk, actor=request.user, reason=request.POST.get("reason", ""))  # type: ignore[arg-type]
                )
            except ForgeError as refusal:
                self.message_user(request, f"{grant.pk}: {refusal.message}", messages.WARNING)
            else:
                self.message_user(request, f"{grant.pk} is revoked", messages.SUCCESS)
