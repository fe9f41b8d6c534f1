"""The WSGI application."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forge_project.settings")

from django.core.wsgi import get_wsgi_application

import forge_project.celery  # noqa: F401  # web processes send hints
from forge_project.kernel.log import out

out.serve()
application = get_wsgi_application()
