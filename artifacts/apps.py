"""The artifacts Django app."""

from django.apps import AppConfig


class ArtifactsConfig(AppConfig):
    """Label `artifacts`."""

    name = "artifacts"
    verbose_name = "Artifacts"
