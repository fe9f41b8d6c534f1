"""How commands end: 0 fine, 1 found a problem, 2 usage."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from forge_project.kernel.errors import Denied, ForgeError, Invalid, Missing

PROBLEM, USAGE = 1, 2


@contextmanager
def refusals() -> Iterator[None]:
    """Turns a refusal into one line: what the operator got wrong exits 2, what the world is like exits 1."""
    try:
        yield
    except (Invalid, Missing, Denied) as refusal:
        raise CommandError(refusal.message, returncode=USAGE) from None
    except ForgeError as refusal:
        raise CommandError(refusal.message, returncode=PROBLEM) from None
