"""The approvals Django app."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Label `approvals`."""

    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """Tells the ledger what approvals bear witness to. No database work here."""
        from approvals import selectors, sessions  # noqa: F401  # its receiver notes log-ins
        from forge_project.ledger import ports

        ports.witnesses["approval"] = selectors.lost_invocations
