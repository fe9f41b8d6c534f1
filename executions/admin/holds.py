"""The holds: operators place one, with its reason, and release it; both through the services."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from executions.bounds import HeldKind, Hold
from executions.services.hold import PlaceHold, ReleaseHold, hold, release
from forge_project.kernel import actors
from forge_project.kernel.errors import ForgeError
from forge_project.kernel.read_only import ForgeAdmin, moment, shown

if TYPE_CHECKING:
    Form = forms.ModelForm[Hold]
else:
    Form = forms.ModelForm


class HoldForm(Form):
    """What is held, and why."""

    class Meta:
        model = Hold
        fields = ["kind", "target", "reason"]


@admin.register(Hold)
class HoldAdmin(ForgeAdmin):
    form = HoldForm
    list_display: Any = ["kind", "target", "reason", "placed_by", moment("placed_at", "since"),
                         moment("released_at", "released")]  # fmt: skip
    list_filter = ["kind", ("released_at", admin.EmptyFieldListFilter)]
    ordering = ["-pk"]
    actions = ["release_selected"]
    _past: Any = ["kind", shown("target"), shown("reason"), shown("placed_by"), moment("placed_at"),
                  shown("released_by"), moment("released_at"), shown("release_reason")]  # fmt: skip

    def heading(self, row: Hold) -> str:
        """Operators name what they hold."""
        return str(row)

    def get_fields(self, request: HttpRequest, obj: Hold | None = None) -> Any:
        """What is asked, or what there is."""
        return self._past if obj else ["kind", "target", "reason"]

    def get_readonly_fields(self, request: HttpRequest, obj: Hold | None = None) -> Any:
        """All of what there is."""
        return self._past if obj else []

    def has_change_permission(self, request: HttpRequest, obj: Hold | None = None) -> bool:
        """Nobody edits one; releasing is an action."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Hold | None = None) -> bool:
        """Nobody: it is kept for good."""
        return False

    def has_release_permission(self, request: HttpRequest) -> bool:
        """Who may place one may end one."""
        return self.has_add_permission(request)

    def save_model(self, request: HttpRequest, obj: Hold, form: Form, change: bool) -> None:
        """Through the service."""
        sent, actor = form.cleaned_data, actors.of(request.user)
        asked = PlaceHold(kind=HeldKind(sent["kind"]), target=sent["target"], reason=sent["reason"], actor=actor)
        obj.pk = hold(asked).pk

    @admin.action(description="Release selected holds", permissions=["release"])
    def release_selected(self, request: HttpRequest, queryset: QuerySet[Hold]) -> None:
        """One refusal leaves the others alone."""
        actor = actors.of(request.user)
        for row in queryset.filter(released_at=None):
            asked = ReleaseHold(kind=HeldKind(row.kind), target=row.target, actor=actor, reason="released in the admin")
            try:
                release(asked)
            except ForgeError as refusal:
                self.message_user(request, f"{row}: {refusal.message}", messages.WARNING)
            else:
                self.message_user(request, f"{row} is released", messages.SUCCESS)
