"""The machine's own refusals."""

from forge_project.kernel.errors import Conflict, Denied, Failed


class LeaseLost(Conflict):
    """Another attempt holds this execution; the loser stops silently."""


class CancelRequested(Conflict):
    """Someone asked for this execution to end; nothing new is dispatched."""

    code = "CANCELLED"


class IdempotencyConflict(Conflict):
    """The key names another request."""

    code = "IDEMPOTENCY_CONFLICT"


class WorkspaceNotGranted(Denied):
    """The caller may not use this workspace (any more)."""


class DeadlinePassed(Failed):
    """The execution's active time is used up."""

    code = "TIMEOUT"
    retryable = True


class StateChanged(Conflict):
    """Another execution changed a key of the session's state meanwhile."""

    retryable = True


class Held(Conflict):
    """An operator holds what was to be dispatched; `facts["hold"]` is which. The execution waits, it does not fail."""


class NotOurs(Conflict):
    """Reconcile came too late: the row's worker lives, or another was first."""


class GuestEnded(Conflict):
    """The script has ended; what it had only requested is not begun any more."""

    code = "CANCELLED"
