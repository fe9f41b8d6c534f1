"""The machine's Django app."""

from django.apps import AppConfig


class ExecutionsConfig(AppConfig):
    """Label `executions`; ties the approvals' ports to the machine. No database work here."""

    name = "executions"
    verbose_name = "Executions"

    def ready(self) -> None:
        """Sets what approvals and the ledger ask the machine, and loads the capabilities (a bad one stops here)."""
        from approvals import around, ports
        from executions import checks  # noqa: F401  # registers the system checks
        from executions.selectors import surroundings, witness
        from executions.services import catalog, examples, holds, sealed, waiting
        from forge_project.ledger import ports as ledger

        catalog.registry()
        ports.decided, ports.questioned = waiting.on_decided, waiting.on_questioned
        ports.redacted = lambda approval, text: sealed.said(approval.execution_ref, text)
        ports.still_holds = holds.still_holds
        ports.capabilities, ports.workspace_known = examples.capabilities, examples.workspace_known
        ports.pose, ports.subject_of = examples.pose, holds.subject_of
        ledger.witnesses["execution"] = witness.lost
        around.of = surroundings.of
        around.came_of = surroundings.came_of
        around.input_of = surroundings.input_of
