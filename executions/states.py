"""The states of executions, calls and attempts, and which move may follow which: tables, not code."""

from django.db.models import Q, TextChoices


class Status(TextChoices):
    """Where an execution stands."""

    VALIDATING = "validating"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    STOPPING = "stopping"
    UNKNOWN = "unknown"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


LIVE = (Status.QUEUED, Status.RUNNING, Status.WAITING_APPROVAL, Status.STOPPING)
TERMINAL = frozenset((Status.SUCCEEDED, Status.FAILED, Status.TIMED_OUT, Status.CANCELLED))
MOVES: dict[Status, frozenset[Status]] = {
    Status.VALIDATING: frozenset((Status.QUEUED,)),
    Status.QUEUED: frozenset((Status.RUNNING, Status.CANCELLED, Status.TIMED_OUT)),
    Status.RUNNING: frozenset(
        (
            Status.SUCCEEDED,
            Status.FAILED,
            Status.TIMED_OUT,
            Status.STOPPING,
            Status.WAITING_APPROVAL,
            Status.QUEUED,
            Status.UNKNOWN,
        )
    ),
    Status.WAITING_APPROVAL: frozenset((Status.QUEUED, Status.CANCELLED, Status.TIMED_OUT, Status.FAILED)),
    Status.STOPPING: frozenset((Status.CANCELLED, Status.TIMED_OUT, Status.UNKNOWN)),
    Status.UNKNOWN: frozenset(
        (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.TIMED_OUT, Status.QUEUED),
    ),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset((Status.QUEUED,)),
    Status.TIMED_OUT: frozenset((Status.QUEUED,)),
    Status.CANCELLED: frozenset(),
}


class SideEffect(TextChoices):
    """What is known of the effects on the world."""

    NOT_STARTED = "not_started"
    STARTED = "started"
    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    UNKNOWN = "unknown"


_WORST_FIRST = (
    SideEffect.UNKNOWN,
    SideEffect.STARTED,
    SideEffect.APPLIED,
    SideEffect.NOT_APPLIED,
    SideEffect.NOT_STARTED,
)


def worst(effects: list[str]) -> SideEffect:
    """The execution's side_effect: the worst of its calls'."""
    return next((effect for effect in _WORST_FIRST if effect in effects), SideEffect.NOT_STARTED)


_SETTLED = frozenset((SideEffect.NOT_STARTED, SideEffect.NOT_APPLIED, SideEffect.APPLIED))
_CLOSED = frozenset((SideEffect.APPLIED, SideEffect.NOT_APPLIED))
PAIRS: dict[Status, frozenset[SideEffect]] = {
    Status.VALIDATING: _SETTLED,
    Status.QUEUED: _SETTLED,
    Status.WAITING_APPROVAL: _SETTLED,
    Status.RUNNING: frozenset(SideEffect),
    Status.STOPPING: frozenset(SideEffect),
    Status.UNKNOWN: frozenset((SideEffect.UNKNOWN,)),
    Status.SUCCEEDED: _CLOSED,
    Status.FAILED: _CLOSED,
    Status.TIMED_OUT: _CLOSED,
    Status.CANCELLED: _CLOSED,
}


def legal_pairs() -> Q:
    """PAIRS as a condition for a CHECK constraint."""
    condition = Q()
    for status in Status:
        condition |= Q(status=status.value, side_effect__in=sorted(effect.value for effect in PAIRS[status]))
    return condition


class CallStatus(TextChoices):
    """Where a call stands."""

    REQUESTED = "requested"
    AWAITING_APPROVAL = "awaiting_approval"
    PREPARED = "prepared"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    RESOLVED = "resolved"


CALL_ENDS = frozenset((CallStatus.SUCCEEDED, CallStatus.FAILED, CallStatus.REJECTED, CallStatus.RESOLVED))
_ASKED = frozenset((CallStatus.AWAITING_APPROVAL, CallStatus.PREPARED, CallStatus.REJECTED))
CALL_MOVES: dict[CallStatus, frozenset[CallStatus]] = {
    CallStatus.REQUESTED: _ASKED | {CallStatus.FAILED},
    CallStatus.AWAITING_APPROVAL: _ASKED,
    CallStatus.PREPARED: frozenset(
        (CallStatus.PREPARED, CallStatus.SUCCEEDED, CallStatus.FAILED, CallStatus.UNKNOWN),
    ),
    CallStatus.UNKNOWN: frozenset((CallStatus.RESOLVED, CallStatus.SUCCEEDED, CallStatus.FAILED)),
    CallStatus.SUCCEEDED: frozenset(),
    CallStatus.FAILED: frozenset(),
    CallStatus.REJECTED: frozenset(),
    CallStatus.RESOLVED: frozenset(),
}


class Kind(TextChoices):
    """What was asked for: a program, or one capability."""

    SCRIPT = "script"
    CAPABILITY = "capability"


class Interruption(TextChoices):
    """What becomes of an execution whose worker died."""

    FAIL = "fail"
    RESUME = "resume"


class WorkspaceKind(TextChoices):
    """What a workspace is on disk."""

    DIRECTORY = "directory"


class Isolation(TextChoices):
    """Whether the executions of a workspace see one another's changes."""

    SHARED = "shared"
    PER_EXECUTION = "per_execution"


# What Forge can keep: where a rule lets writes pass because each execution has a copy of its own, it must have one.
ISOLATIONS: dict[WorkspaceKind, frozenset[Isolation]] = {WorkspaceKind.DIRECTORY: frozenset((Isolation.SHARED,))}


class Access(TextChoices):
    """What a grant of a workspace allows."""

    READ = "read"
    WRITE = "write"
