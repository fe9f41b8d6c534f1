"""The workspaces: operators register a directory and say which agents may use it, both through the services."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest

from executions.models import Workspace, WorkspaceAccess
from executions.services import workspaces
from executions.services.workspaces import AddWorkspace, ChangeWorkspace, Grant
from executions.states import Access
from forge_project.kernel import actors
from forge_project.kernel.errors import Invalid
from forge_project.kernel.read_only import ForgeAdmin, moment

_LETS_PASS = ("isolation", "network_hosts")
_TYPED = {
    "hosts": "FORGE_HOST_ID of each host that serves it, separated by blanks; none = this one",
    "network_hosts": "HOST or HOST:PORT, separated by blanks: what its calls may read without a person; no patterns",
}

if TYPE_CHECKING:
    Form = forms.ModelForm[WorkspaceAccess]
    PlaceBase = forms.ModelForm[Workspace]
    Inline = admin.TabularInline[WorkspaceAccess, Workspace]
else:
    Form, PlaceBase, Inline = forms.ModelForm, forms.ModelForm, admin.TabularInline


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


class Names(forms.CharField):
    """A list of names, typed with blanks between them, not as JSON."""

    def prepare_value(self, value: Any) -> Any:
        """As it was typed, or as it is stored."""
        return " ".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        """A list."""
        return super().clean(value).split()


class PlaceForm(PlaceBase):
    """What the service would refuse, said at its field."""

    def clean(self) -> dict[str, Any]:
        """Both columns of what it lets pass."""
        sent: dict[str, Any] = self.cleaned_data
        if not self.errors:
            try:
                workspaces.checked(self.instance.kind, sent["isolation"], sent["network_hosts"])
            except Invalid as fault:
                self.add_error(fault.facts["path"].removeprefix("/"), fault.message)
        return sent


@admin.register(Workspace)
class WorkspaceAdmin(ForgeAdmin):
    form = PlaceForm
    list_display: Any = ["name", "kind", "path", "hosts", "isolation", "network_hosts", moment("created_at", "since")]
    search_fields = ["name"]
    search_help_text = "a part of its name"
    ordering = ["name"]
    actions: Any = None

    def heading(self, row: Workspace) -> str:
        """Operators name the workspaces."""
        return row.name

    def get_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        """What is asked of a new one, or what there is."""
        stays = ["name", "kind", "path", "hosts", moment("created_at", "since")] if obj else ["name", "path", "hosts"]
        return [*stays, *_LETS_PASS]

    def get_readonly_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        """Approvals are bound to the name, locks to the place: another place is another workspace."""
        return [field for field in self.get_fields(request, obj) if field not in _LETS_PASS] if obj else []

    def get_inlines(self, request: HttpRequest, obj: Workspace | None) -> Any:
        """Agents are let in once it is there."""
        return [AccessInline] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        """Nobody: facts name it; without agents it is not used."""
        return False

    def formfield_for_dbfield(self, db_field: Any, request: Any, **named: Any) -> Any:
        """Hosts are typed as names, not as JSON."""
        if db_field.name in _TYPED:
            return Names(required=False, help_text=_TYPED[db_field.name])
        return super().formfield_for_dbfield(db_field, request, **named)

    def save_model(self, request: HttpRequest, obj: Workspace, form: Any, change: bool) -> None:
        """Through the services; of an old one what it lets pass changes, and its agents."""
        sent, actor = form.cleaned_data, actors.of(request.user)
        says = {name: sent[name] for name in _LETS_PASS}
        if change:  # what this page did not touch may have been changed meanwhile: it stays
            touched = {name: value for name, value in says.items() if name in form.changed_data}
            if touched:
                workspaces.change_workspace(ChangeWorkspace(name=obj.name, actor=actor, **touched))
            return
        asked = AddWorkspace(name=sent["name"], path=sent["path"], hosts=sent["hosts"], actor=actor, **says)
        obj.pk = workspaces.add_workspace(asked).pk

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Grants and takes away through the services."""
        actor = actors.of(request.user)
        for row in formset.save(commit=False):
            asked = Grant(workspace=row.workspace.name, agent=row.user.username, mode=Access(row.mode), actor=actor)
            workspaces.grant(asked)
        for row in formset.deleted_objects:
            workspaces.revoke(row.workspace.name, row.user.username, actor=actor)
