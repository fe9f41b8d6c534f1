"""Take an approval, or a request that waits, back from its page."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from approvals import selectors
from approvals.admin import answers
from approvals.admin.page import render_page
from approvals.models import Approval
from approvals.services import Revoke, revoke
from forge_project.kernel.errors import ForgeError
from forge_project.kernel.http import status_of
from forge_project.kernel.read_only import ForgeAdmin


def take(site: ForgeAdmin, request: HttpRequest, row: Approval) -> HttpResponse:
    """To the page again: by a redirect once it is revoked, else with what was refused."""
    actor = answers.who(request)["actor"]
    try:
        revoke(Revoke(approval_ref=row.ref, actor=actor, reason=answers.reason(request)))
    except ForgeError as refusal:
        return render_page(site, request, selectors.get(row.ref), refusal, status_of(refusal))
    messages.success(request, "It is taken back and can't be used. The agent is told your reason.")
    return HttpResponseRedirect(reverse("admin:approvals_approval_change", args=[row.ref]))
