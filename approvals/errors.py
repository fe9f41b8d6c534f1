"""Why an approval can't be used."""

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
