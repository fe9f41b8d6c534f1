"""The approvals Django app."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Label `approvals`."""

    name = "approvals"
    verbose_name = "Approvals"
