"""Takes the answer sent from a decision page: parse, one service, and what came of it."""

import re
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from approvals import proof, selectors
from approvals.admin.page import render_page
from approvals.models import Approval
from approvals.services import Decide, decide
from approvals.states import State
from forge_project.kernel.errors import ForgeError, Invalid
from forge_project.kernel.http import status_of
from forge_project.kernel.read_only import ForgeAdmin

_DONE = {
    State.APPROVED: "You approved this for one use. Forge carries it out now, unless what it rests on has changed.",
    State.PENDING: "You approved this. It needs more people: it still waits.",
    State.DENIED: "You denied this. The agent is told your reason.",
}
_VERSION = re.compile(r"[0-9]{1,9}")
_FINGERPRINT = re.compile(r"[\x21-\x7e]{1,120}")


def take(site: ForgeAdmin, request: HttpRequest, row: Approval) -> HttpResponse:
    """To the page again: after an answer by a redirect, after a refusal with its message and status."""
    try:
        decided = decide(_asked(request, row))
    except ForgeError as refusal:
        return render_page(site, request, selectors.get(row.ref), refusal, status_of(refusal))
    messages.success(request, _DONE[State(decided.state)])
    return HttpResponseRedirect(reverse("admin:approvals_approval_change", args=[decided.ref]))


def _asked(request: HttpRequest, row: Approval) -> Decide:
    sent, user = request.POST, _user(request)
    decision, version, fingerprint = (sent.get(name, "") for name in ("decision", "version", "fingerprint"))
    if not _VERSION.fullmatch(version) or not _FINGERPRINT.fullmatch(fingerprint):
        raise Invalid("the answer does not say what was seen: open the page again", path="/version")
    return Decide(
        approval_ref=row.ref,
        actor=user,
        decision=decision,  # type: ignore[arg-type]  # decide() refuses any other word
        version=int(version),
        fingerprint=fingerprint,
        **proof.of(request, user),
        reason=sent.get("reason", "").replace("\r\n", "\n"),
    )


def _user(request: HttpRequest) -> Any:
    return request.user
