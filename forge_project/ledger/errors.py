"""The ledger's refusals."""

from forge_project.kernel.errors import Conflict, Denied, Invalid


class InvocationSealed(Conflict):
    """Nothing is appended after the terminal event."""

    code = "INVOCATION_SEALED"


class EventConflict(Conflict):
    """This event id already names other content."""

    code = "EVENT_CONFLICT"


class IdentityConflict(Conflict):
    """An invocation belongs to one session, run, turn and owner."""

    code = "INVOCATION_IDENTITY_CONFLICT"


class OperationConflict(Conflict):
    """The operation's facts do not allow this step; `facts["scan"]` is the stable scan code."""

    code = "OPERATION_CONFLICT"


class UnsupportedProtocol(Invalid):
    """Written by a newer Forge than this one."""

    code = "LEDGER_PROTOCOL"


class ReservedInvocation(Denied):
    """An invocation Forge opened for itself takes Forge's writers only."""

    code = "RESERVED_INVOCATION"


class ReservedFact(Denied):
    """A fact that only the tool boundary (or Forge itself) may state."""

    code = "RESERVED_FACT"


class LedgerCorrupt(Conflict):
    """A stored row is not what was written; `facts` say where. Other invocations go on."""

    code = "LEDGER_CORRUPT"
