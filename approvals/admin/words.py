"""Times and states in words, and text as it may be shown."""

from datetime import datetime, timedelta

from approvals.models import Approval
from approvals.states import LIVE, State
from forge_project.kernel import clock, visible

SAID = {
    State.APPROVED: "Approved, for one use; not used yet",
    State.DENIED: "Denied",
    State.REVOKED: "Taken back",
    State.EXPIRED: "Ended: nobody answered, or used it, in time",
    State.CONSUMED: "Approved, and used",
}


def safe(text: str) -> str:
    """The text with deceptive characters written out; what is so already stays as it is."""
    return visible.content(text)[0]


def said(text: str) -> str:
    """As `safe` for a sentence, a reason or an agent's words: letters that imitate and long runs written out too."""
    return visible.said(text)


def name(text: str) -> str:
    """As `safe` for a target or another short text, look-alike letters and long runs of blanks written out too."""
    return visible.folded(visible.name(text)[0])


def to_type(row: Approval) -> str:
    """What is typed again before something critical is approved: the target as shown, or else the capability."""
    return " ".join(name(row.target).split()) or row.capability


def votes(row: Approval) -> str:
    """`1 of 2`: how many people have approved, of how many that must."""
    if row.grant:
        return "by a standing grant"
    return f"{sum(vote.decision == 'approve' for vote in row.votes.all())} of {row.votes_needed}"


def left(until: datetime) -> str:
    """`2 h 5 min left`, or `overdue`."""
    rest = until - clock.now()
    if rest <= timedelta():
        return "overdue"
    minutes = int(rest.total_seconds()) // 60
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min")]
    told = [f"{count} {unit}" for count, unit in parts if count][:2]
    return f"{' '.join(told) or 'less than 1 min'} left"


def time_left(row: Approval) -> str:
    """As `left`, for what can still be answered or used."""
    return left(row.expires_at) if row.state in LIVE else "-"
