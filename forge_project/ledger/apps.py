"""The ledger's Django app."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """Label `ledger`."""

    name = "forge_project.ledger"
    label = "ledger"
    verbose_name = "Ledger"
