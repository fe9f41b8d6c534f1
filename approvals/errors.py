"""Why an approval can't be used."""

from collections.abc import Callable

from forge_project.kernel.errors import Conflict


class ApprovalInvalid(Conflict):
    """Not approved, or not for this; the code narrows: APPROVAL_REQUIRED, APPROVAL_DENIED, APPROVAL_EXPIRED."""

    code = "APPROVAL_INVALID"


class PreconditionChanged(Conflict):
    """The world is not as it was when the person was asked; asking again may help."""

    code = "PRECONDITION_FAILED"


class PolicyChanged(Conflict):
    """Another rule, or another version of it, asks for a review now; asking again may help."""

    code = "APPROVAL_INVALID"


class Unasked(Conflict):
    """The policy has conditions that nobody asked of this call yet: `ask` outside the transaction, then judge again."""

    def __init__(self, ask: Callable[[], None]) -> None:
        super().__init__("the policy changed while this was judged", retryable=True)
        self.ask = ask
