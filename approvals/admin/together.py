"""Several requests answered at once: first all are shown, then one answer to all of them is taken."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from approvals import ports, selectors, warnings
from approvals.admin import answers, diff, words
from approvals.models import Approval
from approvals.services.together import MOST_DENIED, Seen, Together, decide_together, why_not
from forge_project.kernel.errors import ForgeError, Invalid
from forge_project.kernel.http import status_of
from forge_project.kernel.read_only import ForgeAdmin

_DOING = {"approve": "Approve", "deny": "Deny"}


def show(site: ForgeAdmin, request: HttpRequest) -> HttpResponse:
    """What was chosen, each with what it will do, and one form for all; or why they can't be answered together."""
    return _shown(site, request, request.POST.getlist("chosen"))


def take(site: ForgeAdmin, request: HttpRequest) -> HttpResponse:
    """One result a request."""
    try:
        decided = decide_together(_asked(request))
    except ForgeError as refusal:
        refs = [text.partition(" ")[0] for text in request.POST.getlist("seen")]
        return _shown(site, request, refs, refusal, status_of(refusal))
    results = [{"answered": one, "row": selectors.get(one.approval_ref)} for one in decided]
    for result in results:
        row: Any = result["row"]
        result |= {"target": words.name(row.target), "reason": words.said(row.reason)}
    context = _context(site, request) | {
        "results": results,
        "next": selectors.pending_for(answers.who(request)["actor"]).first(),
    }
    return TemplateResponse(request, "admin/approvals/approval/together_done.html", context)


def _shown(
    site: ForgeAdmin, request: HttpRequest, refs: list[str], refusal: ForgeError | None = None, status: int = 200
) -> HttpResponse:
    decision = request.POST.get("decision", "")
    rows = _rows(request, refs)
    try:
        why = why_not(decision, rows)
    except Invalid as fault:
        why = fault.message
    context = _context(site, request) | {
        "decision": decision,
        "doing": _DOING.get(decision, ""),
        "entries": [_entry(row) for row in rows],
        "why_not": why,
        "refusal": refusal,
        "typed": request.POST.get("reason", ""),
    }
    return TemplateResponse(request, "admin/approvals/approval/together.html", context, status=status)


def _rows(request: HttpRequest, refs: list[str]) -> list[Approval]:
    """Those chosen that still wait for this person, in the queue's order."""
    wanted = [ref for ref in refs if "\0" not in ref][: MOST_DENIED + 1]
    return list(selectors.pending_for(answers.who(request)["actor"]).filter(pk__in=wanted))


def _entry(row: Approval) -> dict[str, Any]:
    return {
        "row": row,
        "sentence": words.said(row.sentence),
        "target": words.name(row.target),
        "warnings": warnings.of(row, ports.still_holds(row)),
        "lines": diff.lines(row.preview),
        "time_left": words.time_left(row),
    }


def _asked(request: HttpRequest) -> Together:
    decision: Any = request.POST.get("decision", "")
    return Together(
        decision=decision, seen=[_seen(text) for text in request.POST.getlist("seen")][: MOST_DENIED + 1],
        reason=answers.reason(request), **answers.who(request),
    )  # fmt: skip


def _seen(text: str) -> Seen:
    ref, _, rest = text.partition(" ")
    version, _, fingerprint = rest.partition(" ")
    number, told = answers.seen(version, fingerprint)
    if "\0" in ref:
        raise Invalid("no such approval", path="/seen")
    return Seen(approval_ref=ref, version=number, fingerprint=told)


def _context(site: ForgeAdmin, request: HttpRequest) -> dict[str, Any]:
    return {
        **site.admin_site.each_context(request),
        "title": "Requests answered together",
        "opts": site.model._meta,
        "media": site.media,
    }
