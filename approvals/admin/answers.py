"""What a person's form says, read before any service is asked."""

import re
from typing import Any

from django.http import HttpRequest

from approvals import eligibility, passwords, proof
from approvals.admin import words
from approvals.models import Approval
from approvals.states import Risk
from forge_project.kernel import clock
from forge_project.kernel.errors import Invalid

_VERSION = re.compile(r"[0-9]{1,9}")
_FINGERPRINT = re.compile(r"[\x21-\x7e]{1,120}")


def seen(version: str, fingerprint: str) -> tuple[int, str]:
    """Which version, and which fingerprint, stood on the page. Raises Invalid."""
    if not _VERSION.fullmatch(version) or not _FINGERPRINT.fullmatch(fingerprint):
        raise Invalid("the answer does not say what was seen: open the page again", path="/version")
    return int(version), fingerprint


def shown(request: HttpRequest) -> str:
    """The digest of all that stood on the page, or "". Raises Invalid."""
    told = request.POST.get("shown", "")
    if told and not _FINGERPRINT.fullmatch(told):
        raise Invalid("the answer does not say what was seen: open the page again", path="/shown")
    return told


def reason(request: HttpRequest) -> str:
    """As typed, lines ended by LF."""
    return request.POST.get("reason", "").replace("\r\n", "\n")


def who(request: HttpRequest) -> dict[str, Any]:
    """The person, and how the session proves it."""
    user: Any = request.user
    return {"actor": user} | proof.of(request, user)


def stepped_up(request: HttpRequest, row: Approval) -> dict[str, Any]:
    """As `who`; for critical risk by a password given now, and the typed target to approve. Raises Denied, Invalid,
    TooMany.
    """
    told = who(request)
    if row.risk != Risk.CRITICAL:
        return told
    typed = " ".join(request.POST.get("typed", "").split())
    if request.POST.get("decision") == "approve" and typed != words.to_type(row):
        raise Invalid("type the target exactly as it is shown", path="/typed")
    passwords.check(told["actor"], request.POST.get("password", ""), request)
    return told | {"authenticated_at": clock.now(), "method": "password", "typed_target": eligibility.to_type(row)}
