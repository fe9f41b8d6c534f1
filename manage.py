#!/usr/bin/env python
"""Forge's commands: `python manage.py help`."""

import os
import sys


def main() -> None:
    """Runs one command; a bad setting ends it with one line and exit code 2."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forge_project.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        import forge_project.celery  # noqa: F401  # the app tasks are bound to

        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"forge: {error}\n")
        sys.exit(2)
    except OperationalError as error:
        sys.stderr.write(f"forge: the database can't be used: {str(error).splitlines()[0]}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
