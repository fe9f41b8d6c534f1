"""The approvals Django app."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Label `approvals`."""

    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """Tells the ledger what approvals bear witness to. No database work here."""
        from approvals import checks, selectors  # noqa: F401  # checks registers itself
        from forge_project.ledger import ports

        ports.witnesses["approval"] = selectors.lost_invocations
