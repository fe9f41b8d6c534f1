"""What a person's form says, read before any service is asked."""

import re
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from forge_project.kernel.errors import Invalid

NEVER = datetime.min.replace(tzinfo=UTC)
_VERSION = re.compile(r"[0-9]{1,9}")
_FINGERPRINT = re.compile(r"[\x21-\x7e]{1,120}")


def seen(version: str, fingerprint: str) -> tuple[int, str]:
    """Which version, and which fingerprint, stood on the page. Raises Invalid."""
    if not _VERSION.fullmatch(version) or not _FINGERPRINT.fullmatch(fingerprint):
        raise Invalid("the answer does not say what was seen: open the page again", path="/version")
    return int(version), fingerprint


def reason(request: HttpRequest) -> str:
    """As typed, lines ended by LF."""
    return request.POST.get("reason", "").replace("\r\n", "\n")


def who(request: HttpRequest) -> dict[str, Any]:
    """The person, and how the session proves it."""
    user: Any = request.user
    return {"actor": user, "authenticated_at": user.last_login or NEVER, "method": "session"}
