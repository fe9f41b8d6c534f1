"""The approvals Django app."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Label `approvals`."""

    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """Tells the ledger what approvals bear witness to. No database work here."""
        from approvals import checks, selectors, sessions  # noqa: F401  # checks and receivers register themselves
        from forge_project.ledger import ports

        ports.witnesses["approval"] = selectors.lost_invocations
