"""The Celery app. Tasks carry a ref or nothing, return nothing, and may run any number of times."""

import os

from celery import Celery

from forge_project.kernel import transport

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forge_project.settings")
transport.register()
app = Celery("forge")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
