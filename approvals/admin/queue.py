"""The approvals' queue; each row leads to its decision page."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Case, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals import around, selectors
from approvals.admin import asking, decision, revoking, similar, together, words
from approvals.admin.filters import StateFilter
from approvals.admin.page import render_page
from approvals.around import Around
from approvals.models import Approval
from approvals.states import Risk
from forge_project.kernel.read_only import ForgeAdmin, ReadOnlyAdmin, moment

Taking = Callable[[ForgeAdmin, HttpRequest, Approval], HttpResponse]
_BY_RISK = Case(*(When(risk=risk, then=Value(n)) for n, risk in enumerate(Risk.values)))


@admin.display(description="risk", ordering=_BY_RISK)
def risk(row: Approval) -> SafeString:
    """The risk, in a colour and in words."""
    return format_html('<span class="forge-badge forge-risk-{}">{} risk</span>', row.risk, row.risk)


@admin.display(description="what", ordering="capability")
def what(row: Approval) -> SafeString:
    """The capability and its target."""
    return format_html("{} <code>{}</code>", row.capability, words.name(row.target))


@admin.display(description="choose")
def choose(row: Approval) -> SafeString:
    """The box that puts a request among those answered together."""
    label = f"Choose {row.capability} of {row.caller.get_username()}, asked {row.requested_at:%Y-%m-%d %H:%M:%S}"
    return format_html('<input type="checkbox" name="chosen" value="{}" aria-label="{}">', row.ref, label)


@admin.display(description="asked by", ordering="caller__username")
def asked_by(row: Approval) -> SafeString:
    """The caller's account, and its task as the agent names it."""
    told: Around | None = getattr(row, "around", None)
    task = format_html(" for <code>{}</code>", words.name(told.task)) if told and told.task else ""
    return format_html("{}{}", row.caller.get_username(), task)


@admin.display(description="votes")
def votes(row: Approval) -> str:
    """How many have approved, of how many that must."""
    return words.votes(row)


@admin.display(description="time left", ordering="expires_at")
def time_left(row: Approval) -> str:
    """Until it ends by itself, as a refusal."""
    return words.time_left(row)


class Queue(ChangeList):
    """A page of the list, with what stands around its requests read at once."""

    def get_results(self, request: HttpRequest) -> None:
        """As Django's; each row gets its `around`."""
        super().get_results(request)
        rows: Any = list(self.result_list)
        found = around.of([row.execution_ref for row in rows])
        for row in rows:
            row.around = found.get(row.execution_ref)
        self.result_list = rows


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    change_list_template = "admin/approvals/approval/change_list.html"
    list_display: Any = [choose, "what", risk, asked_by, votes, time_left, moment("requested_at", "asked"), "state"]
    list_display_links = ["what"]
    list_filter = [StateFilter]
    search_fields = ["=ref", "=execution_ref", "=caller__username", "=capability"]
    show_facets = admin.ShowFacets.NEVER  # the filter counts by itself
    search_help_text = "a whole approval or execution ref, caller or capability"

    what = staticmethod(what)

    def may_decide(self, request: HttpRequest) -> bool:
        """Whether this person decides anything at all."""
        return request.user.has_perm("approvals.decide_approval")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Approval]:
        """What this person may see."""
        return selectors.visible_to(request.user)  # type: ignore[arg-type]  # the admin lets nobody anonymous in

    def get_changelist(self, request: HttpRequest, **named: Any) -> type[ChangeList]:
        """Ours."""
        return Queue

    def get_list_display(self, request: HttpRequest) -> Any:
        """All that is in the queue is pending; who decides can choose there, and nowhere else."""
        if StateFilter.parameter_name in request.GET:
            return self.list_display[1:]
        return self.list_display[0 if self.may_decide(request) else 1 : -1]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The queue; GET alone: there is nothing to send."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        told = {
            "title": "Requests for approval",
            "choosing": self.may_decide(request) and StateFilter.parameter_name not in request.GET,
        }
        return super().changelist_view(request, told | (extra_context or {}))

    def get_ordering(self, request: HttpRequest) -> Any:
        """What waits longest first; of what has ended, the newest."""
        waiting = request.GET.get(StateFilter.parameter_name, "pending") == "pending"
        return ["requested_at", "ref"] if waiting else ["-requested_at", "-ref"]

    def get_urls(self) -> list[URLPattern]:
        """Decisions are sent to an address of their own."""
        guarded = self.admin_site.admin_view
        ours = [
            path("together/", guarded(self.together_view), name="approvals_approval_together"),
            path("together/decide/", guarded(self.decide_together_view), name="approvals_approval_decide_together"),
            path("<str:ref>/similar/", guarded(self.similar_view), name="approvals_approval_similar"),
            path("<str:ref>/ask/", guarded(self.ask_view), name="approvals_approval_ask"),
            path("<str:ref>/revoke/", guarded(self.revoke_view), name="approvals_approval_revoke"),
            path("<str:ref>/decide/", guarded(self.decide_view), name="approvals_approval_decide"),
        ]
        return [*ours, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The decision page. It is looked at; what is sent goes to `decide_view`."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return render_page(self, request, self._seen(request, unquote(object_id)))

    def decide_view(self, request: HttpRequest, ref: str) -> HttpResponse:
        """Takes one person's answer, by POST alone."""
        return self._taken(request, ref, decision.take)

    def ask_view(self, request: HttpRequest, ref: str) -> HttpResponse:
        """Asks the agent something, by POST alone."""
        return self._taken(request, ref, asking.take)

    def revoke_view(self, request: HttpRequest, ref: str) -> HttpResponse:
        """Takes an approval, or the request, back, by POST alone."""
        return self._taken(request, ref, revoking.take)

    def similar_view(self, request: HttpRequest, ref: str) -> HttpResponse:
        """Makes a standing grant, or agrees to one, by POST alone."""
        return self._taken(request, ref, similar.take)

    def together_view(self, request: HttpRequest) -> HttpResponse:
        """Shows what was chosen, to be answered at once; changes nothing."""
        return self._together(request, together.show)

    def decide_together_view(self, request: HttpRequest) -> HttpResponse:
        """Takes one answer to all that were shown."""
        return self._together(request, together.take)

    def _taken(self, request: HttpRequest, ref: str, take: Taking) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return take(self, request, self._seen(request, ref))

    def _together(self, request: HttpRequest, view: Callable[[ForgeAdmin, HttpRequest], HttpResponse]) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.may_decide(request):
            raise PermissionDenied
        return view(self, request)

    def _seen(self, request: HttpRequest, ref: str) -> Approval:
        if not self.has_view_permission(request):
            raise PermissionDenied
        found: Any = self.get_object(request, ref)
        if found is None:
            raise Http404("no such approval")
        return found  # type: ignore[no-any-return]
