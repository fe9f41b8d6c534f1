"""Ask the agent: a question sent from the decision page; the request waits on."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from approvals import selectors
from approvals.admin import answers
from approvals.admin.page import render_page
from approvals.models import Approval
from approvals.services import AskAgent, ask_agent
from approvals.services.grants import Proof
from forge_project.kernel.errors import ForgeError
from forge_project.kernel.http import status_of
from forge_project.kernel.read_only import ForgeAdmin


def take(site: ForgeAdmin, request: HttpRequest, row: Approval) -> HttpResponse:
    """To the page again: by a redirect once it is asked, else with what was refused."""
    text = request.POST.get("text", "").replace("\r\n", "\n")
    try:
        ask_agent(AskAgent(approval_ref=row.ref, text=text, proof=Proof(**answers.who(request))))
    except ForgeError as refusal:
        return render_page(site, request, selectors.get(row.ref), refusal, status_of(refusal))
    messages.success(request, "The agent is asked. Its answer will stand on this page; the request waits on.")
    return HttpResponseRedirect(reverse("admin:approvals_approval_change", args=[row.ref]))
