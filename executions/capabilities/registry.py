"""Which capabilities this process has."""

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from executions.capabilities.base import Capability
from forge_project.kernel.errors import Missing

BUILT_IN = (
    "executions.capabilities.files",
    "executions.capabilities.write",
    "executions.capabilities.search",
    "executions.capabilities.materialize",
    "executions.capabilities.patch",
    "executions.capabilities.sleep",
)


class DuplicateName(ValueError):
    """Two capabilities claim one name."""


class Registry:
    """Capabilities by name; filled once at start-up."""

    def __init__(self) -> None:
        self._by_name: dict[str, Capability] = {}

    def add(self, capability: Capability) -> None:
        """Raises DuplicateName unless it is the very same class again."""
        known = self._by_name.setdefault(capability.name, capability)
        if type(known) is not type(capability):
            raise DuplicateName(f"{capability.name}: both {_whence(known)} and {_whence(capability)}")

    def get(self, name: str) -> Capability:
        """Raises Missing, code TOOL_NOT_FOUND."""
        if name not in self._by_name:
            raise Missing("no such capability", code="TOOL_NOT_FOUND", capability=name)
        return self._by_name[name]

    def all(self) -> tuple[Capability, ...]:
        """Every capability, by name."""
        return tuple(self._by_name[name] for name in sorted(self._by_name))


def load(modules: Iterable[str] = ()) -> Registry:
    """The built-in capabilities, those of `modules`, and those of installed `forge.capabilities` entry points."""
    installed = (point.module for point in entry_points(group="forge.capabilities"))
    registry = Registry()
    for name in (*BUILT_IN, *modules, *installed):
        for capability in _capabilities(import_module(name)):
            registry.add(capability)
    return registry


def _capabilities(module: ModuleType) -> Iterator[Capability]:
    for _, cls in inspect.getmembers(module, inspect.isclass):
        if issubclass(cls, Capability) and not cls.abstract and cls.__module__ == module.__name__:
            yield cls()


def _whence(capability: Capability) -> str:
    return f"{type(capability).__module__}.{type(capability).__qualname__}"
