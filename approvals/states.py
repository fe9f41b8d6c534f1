"""The states of an approval and every move between them, as data."""

from collections.abc import Mapping

from django.db import models


class State(models.TextChoices):
    """Where an approval stands; only `approved` can be used, once."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    REVOKED = "revoked"
    EXPIRED = "expired"
    CONSUMED = "consumed"


MOVES: Mapping[State, frozenset[State]] = {
    State.PENDING: frozenset({State.APPROVED, State.DENIED, State.REVOKED, State.EXPIRED}),
    State.APPROVED: frozenset({State.CONSUMED, State.REVOKED, State.EXPIRED}),
    State.DENIED: frozenset(),
    State.REVOKED: frozenset(),
    State.EXPIRED: frozenset(),
    State.CONSUMED: frozenset(),
}
LIVE = frozenset(state for state, onward in MOVES.items() if onward)


class Decision(models.TextChoices):
    """What a policy rule says of a call."""

    ALLOW = "ALLOW"
    DENY = "DENY"
    REVIEW = "REVIEW"


class Method(models.TextChoices):
    """How a person proved to be that person."""

    SESSION = "session"
    TOKEN = "token"
    PASSWORD = "password"


class Effect(models.TextChoices):
    """What the asked-for call does to the world (executions declares it; design.md, Words)."""

    READ = "read"
    WRITE = "write"
    PROCESS = "process"
    EXTERNAL = "external"
    INTERNAL = "internal"


class Risk(models.TextChoices):
    """How much harm a wrong approval can do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class NoticeKind(models.TextChoices):
    """Why people are told of a question."""

    ASKED = "asked"
    HALF = "half"
    LATE = "late"
