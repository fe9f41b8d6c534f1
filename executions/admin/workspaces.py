"""The workspaces: operators register a directory and say which agents may use it, both through the services."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest

from executions.models import Workspace, WorkspaceAccess
from executions.services import workspaces
from executions.services.workspaces import AddWorkspace, Grant
from executions.states import Access
from forge_project.kernel import actors
from forge_project.kernel.read_only import ForgeAdmin, moment

if TYPE_CHECKING:
    Form = forms.ModelForm[WorkspaceAccess]
    Inline = admin.TabularInline[WorkspaceAccess, Workspace]
else:
    Form, Inline = forms.ModelForm, admin.TabularInline


class AccessForm(Form):
    """An agent and what it may do; a stored row keeps its agent."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        agent: Any = self.fields["user"]
        agent.queryset = User.objects.filter(agent__isnull=False).order_by("username")
        agent.label, agent.disabled = "agent", self.instance.pk is not None


class AccessInline(Inline):
    """Who may use it: part of the workspace, under its permission."""

    model = WorkspaceAccess
    form = AccessForm
    fields = ["user", "mode"]
    extra = 0
    verbose_name = "agent that may use it"
    verbose_name_plural = "agents that may use it"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for the workspace."""
        return request.user.has_perm("executions.view_workspace")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Who may change the workspace; once it is there."""
        return obj is not None and request.user.has_perm("executions.change_workspace")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As `has_add_permission`."""
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As `has_add_permission`."""
        return self.has_add_permission(request, obj)


@admin.register(Workspace)
class WorkspaceAdmin(ForgeAdmin):
    list_display: Any = ["name", "kind", "path", "hosts", moment("created_at", "since")]
    search_fields = ["name"]
    search_help_text = "a part of its name"
    ordering = ["name"]
    actions: Any = None

    def heading(self, row: Workspace) -> str:
        """Operators name the workspaces."""
        return row.name

    def get_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        """What is asked of a new one, or what there is."""
        return ["name", "kind", "path", "hosts", moment("created_at", "since")] if obj else ["name", "path", "hosts"]

    def get_readonly_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        """Approvals are bound to the name, locks to the place: another place is another workspace."""
        return self.get_fields(request, obj) if obj else []

    def get_inlines(self, request: HttpRequest, obj: Workspace | None) -> Any:
        """Agents are let in once it is there."""
        return [AccessInline] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        """Nobody: facts name it; without agents it is not used."""
        return False

    def formfield_for_dbfield(self, db_field: Any, request: Any, **named: Any) -> Any:
        """Hosts are typed as names, not as JSON."""
        if db_field.name == "hosts":
            told = "FORGE_HOST_ID of each host that serves it, separated by blanks; none = this one"
            return forms.CharField(required=False, help_text=told)
        return super().formfield_for_dbfield(db_field, request, **named)

    def save_model(self, request: HttpRequest, obj: Workspace, form: Any, change: bool) -> None:
        """A new one through the service; of an old one only the agents change."""
        if not change:
            sent, actor = form.cleaned_data, actors.of(request.user)
            asked = AddWorkspace(name=sent["name"], path=sent["path"], hosts=sent["hosts"].split(), actor=actor)
            obj.pk = workspaces.add_workspace(asked).pk

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Grants and takes away through the services."""
        actor = actors.of(request.user)
        for row in formset.save(commit=False):
            asked = Grant(workspace=row.workspace.name, agent=row.user.username, mode=Access(row.mode), actor=actor)
            workspaces.grant(asked)
        for row in formset.deleted_objects:
            workspaces.revoke(row.workspace.name, row.user.username, actor=actor)
