"""Agents' accounts: operators add one with its owner; the service makes the account."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest

from approvals.models import Agent
from executions.services.accounts import CreateAgent, create_agent
from forge_project.kernel import actors
from forge_project.kernel.read_only import ForgeAdmin, shown

if TYPE_CHECKING:
    Form = forms.ModelForm[Agent]
else:
    Form = forms.ModelForm


class AgentForm(Form):
    """A new agent: the account's name, who answers for it, whom it may act for."""

    name = forms.CharField(max_length=150, validators=[User.username_validator])

    class Meta:
        model = Agent
        fields = ["owner", "acts_for"]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        people = User.objects.filter(is_active=True, agent=None).order_by("username")
        for field in ("owner", "acts_for"):
            choices: Any = self.fields[field]
            choices.queryset = people

    def clean_name(self) -> str:
        """A name nobody has."""
        name = str(self.cleaned_data["name"])
        if User.objects.filter(username=name).exists():
            raise forms.ValidationError("there is an account of this name already")
        return name


@admin.display(description="acts for")
def acts_for(row: Agent) -> str:
    """The names of the people it may act for."""
    return ", ".join(user.username for user in row.acts_for.order_by("username")) or "-"


@admin.register(Agent)
class AgentAdmin(ForgeAdmin):
    list_display: Any = ["user", "owner", "active"]
    list_select_related = ["user", "owner"]
    search_fields = ["=user__username", "=owner__username"]
    search_help_text = "a whole name of an agent or an owner"
    ordering = ["user__username"]
    actions: Any = None

    @admin.display(boolean=True, ordering="user__is_active")
    def active(self, row: Agent) -> bool:
        """Whether it may act at all."""
        return row.user.is_active

    def heading(self, row: Agent) -> str:
        """Operators name the agents."""
        return row.user.username

    def get_form(self, request: HttpRequest, obj: Agent | None = None, change: bool = False, **named: Any) -> Any:
        """Only what is added is a form."""
        return super().get_form(request, obj, change, **(named if obj else {"form": AgentForm} | named))

    def get_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """As `AgentForm`, or what there is."""
        return [shown("user"), shown("owner"), acts_for, "active"] if obj else ["name", "owner", "acts_for"]

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """All of what there is."""
        return self.get_fields(request, obj) if obj else []

    def has_change_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """Nobody: another owner would be another agent."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """Nobody: its facts name it; the command `agent revoke` ends it."""
        return False

    def save_model(self, request: HttpRequest, obj: Agent, form: Form, change: bool) -> None:
        """Through the service."""
        sent = form.cleaned_data
        actor = actors.of(request.user)
        names = [user.username for user in sent["acts_for"]]
        asked = CreateAgent(name=sent["name"], owner=sent["owner"].username, acts_for=names, actor=actor)
        made = create_agent(asked)
        obj.pk, obj.user = made.pk, made.user
