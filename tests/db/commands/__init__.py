"""The operators' commands, each in what it does and in what it refuses."""

from io import StringIO

from django.core.management import call_command
from django.core.management.base import CommandError


def run(*args, **options):
    """(exit code, what was printed); a usage refusal is (2, its line)."""
    out = StringIO()
    try:
        call_command(*args, stdout=out, **options)
    except CommandError as error:
        return error.returncode, str(error)
    except SystemExit as ended:
        return ended.code, out.getvalue()
    return 0, out.getvalue()
