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
    if _known(says):
        return False
    with governing() as page:
        if _known(says):  # another worker of this start was first
            return False
        page.add(fact(FACT, host=settings.FORGE_HOST_ID, says=says))
    return True


def _known(says: dict[str, Any]) -> bool:
    """Whether the last fact says so; before the first, that there is no reviewer needs none."""
    last = Event.objects.filter(invocation_id=GOVERNANCE, kind=FACT).order_by("-seq").first()
    if last is None:
        return (says["reviewers"], says["fallback"]) == ([], "human")
    return bool(selectors.payload(last)["actions"]["forge"]["says"] == says)
