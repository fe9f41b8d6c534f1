"""The policy's rules: added and changed as new versions through the service, never in place."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from approvals.admin import rule_test, words
from approvals.models import PolicyRule
from approvals.services import RetireRule, SaveRule, retire_rule, save_rule
from approvals.services.rule_checks import doubts
from approvals.services.rules import check_rule
from forge_project.kernel.errors import ForgeError, Invalid
from forge_project.kernel.read_only import ForgeAdmin, moment, shown

SAYS = (
    "priority", "caller", "caller_group", "workspace", "workspace_kind", "isolation", "capability", "effects",
    "condition", "decision", "reason", "risk", "reviewer_may_allow", "approval_required", "votes", "approvers",
    "ttl_seconds",
)  # fmt: skip


if TYPE_CHECKING:
    Form = forms.ModelForm[PolicyRule]
else:
    Form = forms.ModelForm


class RuleForm(Form):
    """A version as it shall be."""

    class Meta:
        model = PolicyRule
        fields = ["name", *SAYS]
        widgets = {"condition": forms.Textarea(attrs={"rows": 3})}

    def clean_condition(self) -> str:
        """As it is typed, without a browser's line ends."""
        return str(self.cleaned_data["condition"]).replace("\r\n", "\n").strip()

    def clean(self) -> dict[str, Any]:
        """What the service would refuse, said at its field."""
        sent = self.cleaned_data
        if not self.errors:
            try:
                check_rule(asked(sent, self.instance, User()))
            except Invalid as fault:
                name = fault.facts["path"].removeprefix("/")
                self.add_error(name if name in self.fields else None, fault.message)
        return sent


def asked(sent: dict[str, Any], seen: PolicyRule, author: User) -> SaveRule:
    """The form's answer for the service: a new rule, or the next version of the one that was seen."""
    says = {name: sent[name] for name in SAYS}
    return SaveRule(name=sent.get("name") or seen.name, author=author, seen=seen.version or 0, **says)


class LiveFilter(admin.SimpleListFilter):
    """Live versions unless asked otherwise."""

    title = "version"
    parameter_name = "version"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Beside the live ones."""
        return [("retired", "Retired"), ("all", "Every version")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[PolicyRule]) -> QuerySet[PolicyRule]:
        """Those asked for."""
        match self.value():
            case "all":
                return queryset
            case "retired":
                return queryset.exclude(retired_at=None)
            case _:
                return queryset.filter(retired_at=None)

    def choices(self, changelist: Any) -> Any:
        """`Live` stands where Django says `All`."""
        first, *others = super().choices(changelist)
        return [{**first, "display": "Live"}, *others]


@admin.register(PolicyRule)
class PolicyRuleAdmin(ForgeAdmin):
    form = RuleForm
    list_display: Any = ["name", "version", "priority", "caller", "capability", "condition_shown", "decision", "reason",
                         moment("created_at", "since")]  # fmt: skip
    list_filter = [LiveFilter]
    ordering = ["retired_at", "priority", "name", "-version"]
    actions = ["retire"]
    change_list_template = "admin/approvals/policyrule/change_list.html"
    _past: Any = ["version", shown("author"), moment("created_at"), moment("retired_at"), shown("retired_by")]

    @admin.display(description="condition")
    def condition_shown(self, row: PolicyRule) -> str:
        """Its condition."""
        return words.safe(row.condition)

    def get_urls(self) -> list[URLPattern]:
        """And where examples are tried."""
        ours = path("test/", self.admin_site.admin_view(self.test_view), name="approvals_policyrule_test")
        return [ours, *super().get_urls()]

    def test_view(self, request: HttpRequest) -> HttpResponse:
        """Judges examples by the rules as they are; nothing is changed."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return rule_test.render(self, request)

    def heading(self, row: PolicyRule) -> str:
        """Operators name the rules."""
        return str(row)

    def get_fields(self, request: HttpRequest, obj: PolicyRule | None = None) -> Any:
        """A rule keeps its name; what the service writes is only shown."""
        return ["name", *SAYS, *(self._past if obj else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: PolicyRule | None = None) -> Any:
        """As `get_fields`."""
        return ["name", *self._past] if obj else []

    def has_change_permission(self, request: HttpRequest, obj: PolicyRule | None = None) -> bool:
        """Only a live version has a next one."""
        return super().has_change_permission(request, obj) and (obj is None or obj.retired_at is None)

    def has_delete_permission(self, request: HttpRequest, obj: PolicyRule | None = None) -> bool:
        """Nobody: decisions keep naming the version they were made under."""
        return False

    def save_model(self, request: HttpRequest, obj: PolicyRule, form: Form, change: bool) -> None:
        """Through the service; the page goes on with the version that holds now."""
        seen = PolicyRule.objects.get(pk=obj.pk) if change else PolicyRule()
        stored = save_rule(asked(form.cleaned_data, seen, request.user))  # type: ignore[arg-type]
        obj.pk, obj.version = stored.pk, stored.version
        for doubt in doubts(stored):
            self.message_user(request, f"{stored}: {doubt}", messages.WARNING)

    @admin.action(description="Retire selected rules", permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[PolicyRule]) -> None:
        """One refusal leaves the others alone."""
        for rule in queryset.filter(retired_at=None):
            try:
                retire_rule(RetireRule(name=rule.name, author=request.user))  # type: ignore[arg-type]
            except ForgeError as refusal:
                self.message_user(request, f"{rule}: {refusal.message}", messages.WARNING)
            else:
                self.message_user(request, f"{rule} is retired", messages.SUCCESS)
