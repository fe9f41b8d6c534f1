"""The capabilities of this process, loaded once."""

from functools import cache

from django.conf import settings

from executions.capabilities.base import Capability
from executions.capabilities.registry import Registry, load


@cache
def registry() -> Registry:
    """The built-in capabilities and those FORGE_CAPABILITIES names."""
    return load(settings.FORGE_CAPABILITIES)


def find(name: str) -> Capability | None:
    """The capability of this name, or None."""
    return next((known for known in registry().all() if known.name == name), None)
