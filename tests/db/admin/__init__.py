"""The admin through Django's test client."""

from django.urls import reverse

from approvals.models import Approval

QUEUE = "/admin/approvals/approval/"


def page_of(approval):
    return reverse("admin:approvals_approval_change", args=[approval.ref])


def decide_url(approval):
    return reverse("admin:approvals_approval_decide", args=[approval.ref])


def answer(client, approval, decision="approve", **changes):
    """Sends what the page's form would send."""
    sent = {"decision": decision, "version": approval.version, "fingerprint": approval.fingerprint, "reason": ""}
    return client.post(decide_url(approval), sent | changes)


def state(approval):
    return Approval.objects.values_list("state", "version").get(pk=approval.pk)
