"""Whether checkpoints are made and delivered: what readiness and `doctor` tell. Nothing stops for want of them."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Min

from forge_project.ledger import restoring, sinks
from forge_project.ledger.models import Checkpoint, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsigned:
    """Events after the newest checkpoint of their chain; the oldest of them."""

    chains: int
    since: datetime | None


def sink_fault() -> str:
    """Why the oldest checkpoint that is not in the sink is not; "" if all are, or none was tried."""
    if sinks.file() is None and sinks.webhook() is None:
        return ""
    row = Checkpoint.objects.filter(sent=False).exclude(fault="").order_by("number").first()
    if row is not None:
        return f"checkpoint {row.number} is not in the sink: {row.fault}"
    return "the database is older than its checkpoints' sink: nothing is dispatched" if restoring.behind() else ""


def unsigned() -> Unsigned:
    """What no checkpoint covers yet. Looks at every chain's row: not for each request."""
    after = F("invocation__checkpointed_seq")
    first = Event.objects.filter(invocation__head_seq__gt=after, seq=after + 1)
    oldest = first.aggregate(oldest=Min("committed_at"))["oldest"]
    return Unsigned(chains=first.count(), since=datetime.fromisoformat(oldest) if oldest else None)
