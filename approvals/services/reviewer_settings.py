"""Who reviews, as a fact of governance whenever it changes."""

from typing import Any

from django.conf import settings

from approvals.reviewers import configured
from forge_project.ledger import selectors
from forge_project.ledger.events import fact
from forge_project.ledger.governance import GOVERNANCE, governing
from forge_project.ledger.models import Event

FACT = "reviewers.set"


def record_reviewers() -> bool:
    """Writes what the settings say, without the key, unless the last such fact says so; whether it did."""
    says: dict[str, Any] = {
        "reviewers": [f"{type(one).__module__}.{type(one).__qualname__}" for one in configured()],
        "fallback": settings.FORGE_REVIEW_FALLBACK,
        "url": settings.FORGE_REVIEWER_URL,
        "models": [settings.FORGE_REVIEWER_FAST_MODEL, settings.FORGE_REVIEWER_REASON_MODEL],
        "seconds": settings.FORGE_REVIEWER_SECONDS,
    }
    with governing() as page:
        last = Event.objects.filter(invocation_id=GOVERNANCE, kind=FACT).order_by("-seq").first()
        if (_said(last) if last else {"reviewers": [], "fallback": "human"}) == _said_of(says, last):
            return False
        page.add(fact(FACT, host=settings.FORGE_HOST_ID, says=says))
    return True


def _said(last: Event) -> dict[str, Any]:
    says: dict[str, Any] = selectors.payload(last)["actions"]["forge"]["says"]
    return says


def _said_of(says: dict[str, Any], last: Event | None) -> dict[str, Any]:
    """Before the first fact, that there is no reviewer needs none."""
    return says if last else {name: says[name] for name in ("reviewers", "fallback")}
