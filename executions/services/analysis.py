"""Links an execution to the outside analysis job that belongs to it."""

from dataclasses import dataclass

from executions.models import Execution
from executions.states import TERMINAL
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAnalysis:
    """Which job `actor` says belongs to `execution_ref`."""

    execution_ref: str
    actor: str  # user:<username>
    analysis_ref: str


def link_analysis(asked: LinkAnalysis) -> Execution:
    """The execution with its link; the same link again changes nothing. Conflict once it has finished."""
    with writing(asked.execution_ref) as page:
        execution = Execution.objects.get(pk=asked.execution_ref)
        if execution.status in TERMINAL:
            raise Conflict("this execution has finished", status=execution.status, execution=execution.ref)
        if execution.analysis_ref != asked.analysis_ref:
            changed = {"analysis_ref": asked.analysis_ref, "updated_at": clock.now()}
            Execution.objects.filter(pk=execution.pk).update(**changed)
            page.add(fact("execution.analysis_linked", actor=asked.actor, analysis_ref=asked.analysis_ref))
            execution.refresh_from_db()
    return execution
