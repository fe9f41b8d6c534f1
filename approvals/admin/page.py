"""The decision page: everything a person must see to answer, read afresh at each look."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse

from approvals import around, ports, questions, selectors, warnings
from approvals.admin import diff, words
from approvals.admin.history import history
from approvals.admin.verdicts import verdicts
from approvals.eligibility import check_group, check_not_own
from approvals.models import MAX_QUESTIONS, Agent, Approval, PolicyRule
from approvals.policy import DEFAULT
from approvals.states import LIVE, Risk, State
from forge_project.kernel import clock
from forge_project.kernel.errors import Denied, ForgeError
from forge_project.kernel.read_only import ForgeAdmin

_LAST = 5
TEMPLATE = "admin/approvals/approval/change_form.html"


def render_page(
    site: ForgeAdmin, request: HttpRequest, row: Approval, refusal: ForgeError | None = None, status: int = 200
) -> HttpResponse:
    """The page of `row`, above it what was refused. Reads the world's files: never call it in a transaction."""
    holds = ports.still_holds(row) if row.state in LIVE else None
    shown = diff.lines(row.preview)
    known = around.of([row.execution_ref]).get(row.execution_ref)
    context = {
        **site.admin_site.each_context(request),
        "title": f"Approval {row.ref}",
        "opts": site.model._meta,
        "media": site.media,
        "row": row,
        "refusal": refusal,
        "sent_to": _sent_to(request),
        "typed_condition": request.POST.get("condition", ""),
        "typed": request.POST.get("reason", ""),
        "typed_question": request.POST.get("text", ""),
        "shown": questions.shown(row),
        "questions": _questions(row),
        "news": _news(row),
        "may_ask": row.questions.count() < MAX_QUESTIONS,
        "may_revoke": row.state in LIVE and request.user.has_perm("approvals.decide_approval"),
        "warnings": warnings.of(row, holds),
        "holds": holds,
        "live": row.state in LIVE,
        "outcome": words.SAID.get(State(row.state), ""),
        "votes": words.votes(row),
        "voters": [vote.person.username for vote in row.votes.all()],
        "verdicts": verdicts(row),
        "grants": [{"row": one, "sentence": words.said(one.sentence)} for one in row.grants.filter(ended_at=None)],
        "time_left": words.time_left(row),
        "sentence": words.said(row.sentence),
        "target": words.name(row.target),
        "purpose": words.said(row.purpose),
        "reason": words.said(row.reason),
        "lines": shown,
        "files": diff.files(shown),
        "around": known,
        "request_sent": "\n".join(line.text for line in diff.indented(around.input_of(row))),
        "task": words.name(known.task) if known else "",
        "came_of": around.came_of(row) if row.state != State.PENDING else "",
        "last": _last(row),
        "step_up": row.risk == Risk.CRITICAL,
        "to_type": words.to_type(row),
        "agent": Agent.objects.select_related("owner").filter(user=row.caller_id).first(),
        "execution_url": _execution_url(row),
        "rule_reason": _rule_reason(row),
        "history": history(row),
        "may_not": _may_not(request.user, row),
        "next": _next(request.user, row),
    }
    return TemplateResponse(request, TEMPLATE, context, status=status)


def _sent_to(request: HttpRequest) -> str:
    """Which of the page's forms was sent: decide, similar, ask, revoke; its fold is open again."""
    match = request.resolver_match
    return str(match.url_name).rpartition("_")[2] if match and request.method == "POST" else ""


def _questions(row: Approval) -> list[dict[str, Any]]:
    return [{"row": one, "text": words.said(one.text), "answer": words.said(one.answer)} for one in questions.of(row)]


def _news(row: Approval) -> str:
    """Said aloud on a page that is open when it changes."""
    there = questions.of(row)
    answered = [one for one in there if one.answered_at]
    asked = f"The agent was asked {len(there)}" + (" question" if len(there) == 1 else " questions")
    return f"{asked} and has answered {len(answered)}." if there else ""


def _execution_url(row: Approval) -> str:
    try:
        return reverse("admin:executions_execution_change", args=[row.execution_ref])
    except NoReverseMatch:  # the machine's admin is above us, and may be absent
        return ""


def _rule_reason(row: Approval) -> str:
    if row.rule == DEFAULT:
        return "No rule allows this without a person."
    rule = PolicyRule.objects.filter(name=row.rule, version=row.rule_version).first()
    return words.said(rule.reason) if rule else ""


def _may_not(user: Any, row: Approval) -> str:
    """Why this person has no form to answer with, or nothing; `decide` is who refuses."""
    if not user.has_perm("approvals.decide_approval"):
        return "You may look at this; deciding needs the permission to decide approvals."
    if row.state == State.PENDING and row.expires_at <= clock.now():
        return "This is overdue: nobody can approve it any more."
    try:
        check_not_own(user, row)
    except Denied:
        return "This was asked by you, by your agent or in your name: another person must decide it."
    try:
        check_group(user, row.approvers)
    except Denied:
        return f"The rule wants the group {row.approvers} to decide this."
    if row.state == State.PENDING and any(vote.person_id == user.pk for vote in row.votes.all()):
        return "You have approved this. It waits for other people."
    return ""


def _last(row: Approval) -> list[dict[str, Any]]:
    """What people last decided of this caller and capability, newest first."""
    decided = Approval.objects.filter(caller=row.caller, capability=row.capability, decided_at__isnull=False)
    rows = decided.exclude(pk=row.pk).select_related("decided_by").order_by("-decided_at")[:_LAST]
    return [{"row": one, "target": words.name(one.target), "reason": words.said(one.reason)} for one in rows]


def _next(user: User | Any, row: Approval) -> Approval | None:
    return selectors.pending_for(user).exclude(pk=row.pk).first()
