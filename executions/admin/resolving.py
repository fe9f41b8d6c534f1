"""The page on which an operator says what became of an unknown effect: what is known of it, one form, one service."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from approvals.eligibility import is_agent
from approvals.models import Approval
from executions.models import Call, Execution
from executions.sandbox.shapes import NO_VALUE
from executions.services.resolve import MAX_REASON, Resolve, resolve
from executions.states import CallStatus, Status
from forge_project.kernel import actors, strict_json, visible
from forge_project.kernel.errors import ForgeError, Invalid
from forge_project.kernel.http import status_of
from forge_project.kernel.read_only import ForgeAdmin, block
from forge_project.ledger.journal import journal

TEMPLATE = "admin/executions/call/resolve.html"
_DONE = {
    Status.QUEUED: "Your finding is written down; the script goes on from it.",
    Status.UNKNOWN: "Your finding is written down; another call of this execution is still unknown.",
}
_LARGEST = 2**63 - 1


def may(user: Any) -> bool:
    """Operators, and no agent whatever its groups."""
    return bool(user.has_perm("executions.resolve_execution")) and not is_agent(user)


def answer(site: ForgeAdmin, request: HttpRequest, pk: int) -> HttpResponse:
    """To the execution after an answer; to the page again, with what was refused, after a refusal."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
    if not site.has_view_permission(request) or not may(request.user):
        raise PermissionDenied
    call = Call.objects.select_related("execution").filter(pk=pk).first() if pk <= _LARGEST else None
    if call is None:
        raise Http404("no such call")
    if request.method != "POST":
        return _page(site, request, call)
    try:
        left = resolve(_asked(request, call))
    except ForgeError as refusal:
        call.refresh_from_db()
        return _page(site, request, call, refusal)
    messages.success(request, _DONE.get(Status(left.status), f"Your finding is written down; it is {left.status} now."))
    return HttpResponseRedirect(reverse("admin:executions_execution_change", args=[left.ref]))


def _asked(request: HttpRequest, call: Call) -> Resolve:
    sent, user = request.POST, request.user
    result = sent.get("result", "").strip()
    lines = sent.get("evidence", "").replace("\r\n", "\n").split("\n")
    try:
        told = strict_json.loads(result, nul=True) if result else NO_VALUE
    except Invalid as fault:
        raise Invalid(f"the result is not JSON: {fault.message}", path="/result") from None
    return Resolve(
        execution_ref=call.execution_id,
        n=call.n,
        actor=actors.of(user),
        observed=sent.get("observed", ""),  # type: ignore[arg-type]  # resolve() refuses any other word
        reason=sent.get("reason", "").replace("\r\n", "\n"),
        evidence=tuple(line.strip() for line in lines if line.strip()),
        result=told,
    )


def _page(site: ForgeAdmin, request: HttpRequest, call: Call, refusal: ForgeError | None = None) -> HttpResponse:
    asked = Approval.objects.filter(pk=call.approval_ref).first()
    late = [entry.metadata for entry in journal(call.operation_id) if entry.state == "late_outcome"]
    context = {
        **site.admin_site.each_context(request),
        "title": "An effect that nobody knows",
        "opts": site.model._meta,
        "media": site.media,
        "call": call,
        "tool": _safe(call.tool),
        "sentence": _safe(asked.sentence) if asked else "",
        "decided_by": asked.decided_by if asked else None,
        "input": block(call.shown_input),
        "evidence": block(call.evidence),
        "late": block(late),
        "execution": _execution(call.execution),
        "unknown": call.status == CallStatus.UNKNOWN and call.execution.status == Status.UNKNOWN,
        "refusal": refusal,
        "typed": {name: request.POST.get(name, "") for name in ("observed", "result", "reason", "evidence")},
        "max_reason": MAX_REASON,
    }
    return TemplateResponse(request, TEMPLATE, context, status=status_of(refusal) if refusal else 200)


def _execution(row: Execution) -> dict[str, Any]:
    url = reverse("admin:executions_execution_change", args=[row.pk])
    owner = User.objects.filter(pk=row.caller_id).values_list("username", flat=True).first()
    follows = "its script goes on" if row.kind == "script" and row.interruption == "resume" else "it ends"
    return {
        "ref": row.pk, "url": url, "caller": owner, "status": row.status,
        "follows": "it ends as cancelled" if row.cancel_requested_at else follows,
    }  # fmt: skip


def _safe(text: str) -> str:
    return visible.content(text)[0]
