"""The machine's Django app."""

from django.apps import AppConfig


class ExecutionsConfig(AppConfig):
    """Label `executions`; ties the approvals' ports to the machine. No database work here."""

    name = "executions"
    verbose_name = "Executions"

    def ready(self) -> None:
        """Sets what approvals calls when a person has decided, and loads the capabilities (a bad one stops here)."""
        from approvals import ports
        from executions import checks  # noqa: F401  # registers the system checks
        from executions.services import catalog, holds, waiting

        catalog.registry()
        ports.decided = waiting.on_decided
        ports.still_holds = holds.still_holds
