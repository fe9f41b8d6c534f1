"""The class every capability is, and the one check of its input."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar

from jsonschema import Draft202012Validator, FormatChecker, TypeChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from executions.capabilities import declarations
from executions.capabilities.values import (
    Applied,
    ArtifactContent,
    ArtifactStore,
    Description,
    Effect,
    EffectBoundary,
    NewArtifact,
    NotApplied,
    Outcome,
    Precondition,
    Recovery,
    Request,
    Risk,
    Settled,
    Unknown,
    Workspace,
)
from executions.capabilities.workspace import names
from forge_project.kernel.errors import ForgeError, Invalid

__all__ = [
    "NO_TARGET", "Applied", "ArtifactContent", "ArtifactStore", "Capability", "Description", "Effect", "EffectBoundary",
    "NewArtifact", "NotApplied", "Outcome", "Precondition", "Recovery", "Request", "Risk", "Settled", "Unknown",
    "Workspace", "closed_object", "fault_of_schema", "validate_input",
]  # fmt: skip

NO_TARGET: dict[str, Any] = {"host": "", "method": "", "hosts": [], "path": "", "paths": [], "argv": [], "branch": ""}


class Capability(ABC):
    """One named tool; a missing or contradictory declaration raises DeclarationError when the class is made."""

    name: ClassVar[str]
    summary: ClassVar[str]
    effect: ClassVar[Effect]
    risk: ClassVar[Risk]
    recovery_mode: ClassVar[Recovery]
    input_schema: ClassVar[dict[str, Any]]
    result_schema: ClassVar[dict[str, Any]]
    network: ClassVar[bool] = False
    timeout_ms: ClassVar[int] = 30_000
    abstract: ClassVar[bool] = True

    def __init_subclass__(cls, *, abstract: bool = False, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.abstract = abstract
        if not abstract:
            declarations.check(cls, Capability)

    @abstractmethod
    def observe(self, request: Request) -> Precondition:
        """What the effect would rest on; every hard rule is checked here; changes nothing."""

    @abstractmethod
    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        """Does it; crosses `effect.begin` exactly once, right before the first effect, when there is one."""

    @abstractmethod
    def describe(self, request: Request, seen: Precondition) -> Description:
        """What a person is asked to approve."""

    def paths(self, value: Any, seen: Precondition | None) -> list[str]:
        """Which files of the workspace the effect writes, as far as the input and what was seen tell."""
        path = value.get("path") if self.effect == Effect.WRITE and isinstance(value, dict) else None
        return [path] if isinstance(path, str) else []

    def aim(self, given: Mapping[str, Any], artifacts: ArtifactStore) -> dict[str, Any]:
        """What rules see as `target`, in one spelling: `./a` is `a`. A key that is left out fails a condition on it.

        One with `network` tells its `method` (GET, POST …), its `host`, and in `hosts` every `host:port` it goes to.
        Raises ForgeError where the input names nothing. Called outside any transaction, on input not yet validated.
        """
        path = given.get("path")
        if not isinstance(path, str):
            return dict(NO_TARGET)
        plain = names.plain(path)
        return NO_TARGET | {"path": plain, "paths": [plain]}

    def reconcile(self, request: Request, seen: Precondition) -> Settled:
        """Whether the effect that began at `seen` is in the world; safe to repeat."""
        return Unknown(f"{self.name} leaves nothing to look for")

    def discard(self, request: Request, seen: Precondition | None) -> None:  # noqa: B027  # most prepare nothing
        """Removes what preparing left of an operation that was not applied; safe to repeat.

        `seen` is the precondition it began with, None where it never began.
        """


def closed_object(required: Iterable[str] | None = None, /, **props: Any) -> dict[str, Any]:
    """A closed object schema; without `required` every property is."""
    needed = list(props) if required is None else list(required)
    return {"type": "object", "additionalProperties": False, "properties": props, "required": needed}


def validate_input(capability: Capability | type[Capability], value: Any) -> None:
    """Raises Invalid with `path` (JSON pointer) and `rule` for the first fault by position."""
    cls = capability if isinstance(capability, type) else type(capability)
    errors = sorted(
        _validator(cls).iter_errors(value), key=lambda e: ([str(p) for p in e.absolute_path], str(e.validator))
    )
    if errors:
        raise fault_of_schema(errors[0])


@cache
def _validator(cls: type[Capability]) -> Any:
    # jsonschema takes 1.0 as an integer; an offset of 1.0 is a fault to us.
    types: TypeChecker = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    formats = FormatChecker(formats=())
    formats.checks("workspace-path", raises=Invalid)(lambda value: _is_well_formed(value, names.split))
    formats.checks("workspace-directory", raises=Invalid)(lambda value: _is_well_formed(value, names.directory))
    return extend(Draft202012Validator, type_checker=types)(  # type: ignore[no-untyped-call]
        cls.input_schema, format_checker=formats
    )


def _is_well_formed(value: object, split: Callable[[str], names.Parts]) -> bool:
    if isinstance(value, str):  # another type is the schema's to refuse
        split(value)
    return True


def fault_of_schema(error: ValidationError) -> Invalid:
    """A schema fault with its JSON pointer, and without the value."""
    parts = [str(part) for part in error.absolute_path]
    instance, schema = error.instance, error.schema
    if error.validator == "required" and isinstance(instance, dict) and isinstance(schema, dict):
        parts.append(next(key for key in schema["required"] if key not in instance))
    elif error.validator == "additionalProperties" and isinstance(instance, dict) and isinstance(schema, dict):
        parts.append(min(set(instance) - set(schema.get("properties", {})), default=""))
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
    if isinstance(error.cause, ForgeError):
        return Invalid(error.cause.message, **{**error.cause.facts, "path": pointer})
    # jsonschema's own message quotes the whole value, which may be a megabyte.
    return Invalid(f"{pointer or 'the input'} fails {error.validator}", path=pointer, rule=f"schema.{error.validator}")
