"""Whether what an approval rests on is still so: the observation made when it was asked, made again."""

from django.conf import settings

from approvals.conditions import Subject
from approvals.models import Approval
from executions.models import Call, Execution
from executions.services import asking, catalog
from executions.services.requests import request_of
from forge_project.kernel.errors import ForgeError


def subject_of(approval: Approval) -> Subject | None:
    """What conditions may look at of the approval's call."""
    call = Call.objects.filter(execution=approval.execution_ref, call_id=approval.call_id).first()
    execution = Execution.objects.select_related("workspace", "caller").filter(pk=approval.execution_ref).first()
    capability = catalog.find(approval.capability)
    if call is None or execution is None or capability is None:
        return None
    return asking.of_call(execution, capability, call).subject


def still_holds(approval: Approval) -> bool | None:
    """True or False by looking now, at the world and at what the workspace lets pass; None where nothing can be seen.

    Reads files: never in a transaction.
    """
    call = Call.objects.filter(execution=approval.execution_ref, call_id=approval.call_id).first()
    execution = Execution.objects.select_related("workspace", "caller").filter(pk=approval.execution_ref).first()
    capability = catalog.find(approval.capability)
    if call is None or execution is None or capability is None:
        return None
    try:
        seen = capability.observe(request_of(call, execution))
    except (ForgeError, OSError):
        return False
    match = settings.FORGE_FINGERPRINTS.match
    same = match(approval.scope_fingerprint, asking.bound_scope(execution))
    return bool(same and match(approval.precondition_fingerprint, seen))
