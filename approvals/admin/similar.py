"""Approve this and similar: a standing grant made, or agreed to, from the decision page."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from approvals import selectors
from approvals.admin import answers
from approvals.admin.page import render_page
from approvals.models import Approval, Grant
from approvals.services import MakeGrant, VoteGrant, make_grant, vote_grant
from approvals.services.grants import Proof
from forge_project.kernel.errors import ForgeError, Invalid
from forge_project.kernel.http import status_of
from forge_project.kernel.read_only import ForgeAdmin


def take(site: ForgeAdmin, request: HttpRequest, row: Approval) -> HttpResponse:
    """To the page again: by a redirect once it stands or waits for votes, else with what was refused."""
    try:
        grant = _made(request, row)
    except ForgeError as refusal:
        return render_page(site, request, selectors.get(row.ref), refusal, status_of(refusal))
    stands = "stands now" if grant.lives_until else "needs more people who agree"
    messages.success(request, f"The standing grant {grant.ref} {stands}.")
    return HttpResponseRedirect(reverse("admin:approvals_approval_change", args=[row.ref]))


def _made(request: HttpRequest, row: Approval) -> Grant:
    sent, proof = request.POST, Proof(**answers.who(request))
    if "grant" in sent:
        return vote_grant(VoteGrant(grant_ref=_of(row, sent["grant"]), proof=proof, shown=answers.shown(request)))
    version, fingerprint = answers.seen(sent.get("version", ""), sent.get("fingerprint", ""))
    uses, lasts = sent.get("uses", ""), sent.get("lasts", "")
    asked: Any = {
        "condition": sent.get("condition", "").replace("\r\n", "\n").strip(),
        "uses": int(uses) if uses.isascii() and uses.isdigit() and len(uses) < 4 else 0,
        "lasts": lasts,
        "shown": answers.shown(request),
    }
    return make_grant(MakeGrant(approval_ref=row.ref, version=version, fingerprint=fingerprint, proof=proof, **asked))


def _of(row: Approval, ref: str) -> str:
    """A grant that was proposed at this very question."""
    if "\0" in ref or not row.grants.filter(pk=ref).exists():
        raise Invalid("no such grant was proposed here", path="/grant")
    return ref
