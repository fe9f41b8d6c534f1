"""The WSGI application."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forge_project.settings")

from django.core.wsgi import get_wsgi_application

import forge_project.celery  # noqa: F401  # web processes send hints

application = get_wsgi_application()
