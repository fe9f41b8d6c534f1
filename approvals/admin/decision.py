"""Takes the answer sent from a decision page: parse, one service, and what came of it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from approvals import selectors
from approvals.admin import answers
from approvals.admin.page import render_page
from approvals.models import Approval
from approvals.services import Decide, decide
from approvals.states import State
from forge_project.kernel.errors import ForgeError
from forge_project.kernel.http import status_of
from forge_project.kernel.read_only import ForgeAdmin

_DONE = {
    State.APPROVED: "You approved this for one use. Forge carries it out now, unless what it rests on has changed.",
    State.PENDING: "You approved this. It needs more people: it still waits.",
    State.DENIED: "You denied this. The agent is told your reason.",
}


def take(site: ForgeAdmin, request: HttpRequest, row: Approval) -> HttpResponse:
    """To the page again: after an answer by a redirect, after a refusal with its message and status."""
    try:
        decided = decide(_asked(request, row))
    except ForgeError as refusal:
        page = render_page(site, request, selectors.get(row.ref), refusal, status_of(refusal))
        if (wait := refusal.facts.get("retry_after")) is not None:
            page["Retry-After"] = str(wait)
        return page
    messages.success(request, _DONE[State(decided.state)])
    return HttpResponseRedirect(reverse("admin:approvals_approval_change", args=[decided.ref]))


def _asked(request: HttpRequest, row: Approval) -> Decide:
    sent = request.POST
    version, fingerprint = answers.seen(sent.get("version", ""), sent.get("fingerprint", ""))
    return Decide(
        approval_ref=row.ref,
        decision=sent.get("decision", ""),  # type: ignore[arg-type]  # decide() refuses any other word
        version=version,
        fingerprint=fingerprint,
        reason=answers.reason(request),
        shown=answers.shown(request),
        **answers.stepped_up(request, row),
    )
