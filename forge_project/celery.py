"""The Celery app. Tasks carry a ref or nothing, return nothing, and may run any number of times."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

from forge_project.kernel import transport
from forge_project.kernel.log import out

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forge_project.settings")
transport.register()
app = Celery("forge")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def _log_as_the_rest(**_: Any) -> None:
    """A worker's log is JSON on stdout; that this is connected keeps Celery from setting up another."""
    out.serve()
