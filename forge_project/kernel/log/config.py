"""Django's LOGGING: one handler for Forge, Django and Celery."""

from typing import Any

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "forge_project.kernel.log.form.formatter"}},
    "handlers": {"out": {"class": "forge_project.kernel.log.out.Out", "formatter": "json"}},
    "root": {"level": "WARNING", "handlers": ["out"]},
    "loggers": {
        "forge": {"level": "INFO"},
        "django": {"level": "WARNING", "handlers": [], "propagate": True},
        "django.request": {"level": "ERROR"},  # each request is a line of ours already
    },
}
