"""What a capability class must declare, and which declarations contradict each other."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from executions.capabilities.values import Effect, Recovery, Risk

_NAME = re.compile(r"[a-z][A-Za-z0-9-]*(\.[a-z][A-Za-z0-9-]*)*")
# A write or an outside effect that is simply done again is a second effect; a read has nothing to look for.
RECOVERIES: Mapping[Effect, frozenset[Recovery]] = {
    Effect.READ: frozenset({Recovery.REPLAY_SAFE, Recovery.IDEMPOTENT}),
    Effect.INTERNAL: frozenset({Recovery.REPLAY_SAFE, Recovery.IDEMPOTENT}),
    Effect.WRITE: frozenset(Recovery) - {Recovery.REPLAY_SAFE},
    Effect.PROCESS: frozenset(Recovery),
    Effect.EXTERNAL: frozenset(Recovery) - {Recovery.REPLAY_SAFE},
}
TYPES: Mapping[str, type] = {
    "name": str, "summary": str, "effect": Effect, "risk": Risk, "recovery_mode": Recovery,
    "input_schema": dict, "result_schema": dict, "network": bool, "timeout_ms": int,
}  # fmt: skip


class DeclarationError(TypeError):
    """A capability class that does not say, or contradicts, what it is."""


def check(cls: type, base: Any) -> None:
    """Raises DeclarationError with every fault of `cls`, a concrete subclass of `base`."""
    faults = list(_missing(cls)) or [*_contradictions(cls, base), *_schemas(cls)]
    if faults:
        raise DeclarationError(f"{cls.__module__}.{cls.__qualname__}: {'; '.join(faults)}")


def _missing(cls: type) -> Iterator[str]:
    for name, kind in TYPES.items():
        value = getattr(cls, name, None)
        if value is None:
            yield f"declares no {name}"
        elif type(value) is not kind:
            yield f"{name} must be a {kind.__name__}"


def _contradictions(cls: Any, base: Any) -> Iterator[str]:
    if not _NAME.fullmatch(cls.name):
        yield f"name {cls.name!r} is not words joined by dots"
    if not cls.summary.strip() or "\n" in cls.summary:
        yield "summary must be one line"
    if cls.timeout_ms < 1:
        yield "timeout_ms must be positive"
    for method in ("observe", "execute", "describe"):
        if getattr(cls, method) is getattr(base, method):
            yield f"implements no {method}"
    if cls.recovery_mode not in RECOVERIES[cls.effect]:
        yield f"effect {cls.effect} cannot be recovered as {cls.recovery_mode}"
    if cls.recovery_mode in {Recovery.RECONCILE, Recovery.REATTACH} and cls.reconcile is base.reconcile:
        yield f"recovery_mode {cls.recovery_mode} needs its own reconcile"


def _schemas(cls: Any) -> Iterator[str]:
    for name in ("input_schema", "result_schema"):
        schema = getattr(cls, name)
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as fault:
            yield f"{name} is not a JSON Schema: {fault.message}"
            continue
        if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
            yield f"{name} must be a closed object"
        yield from (f"{name}{where} is open" for where in _open(schema, ""))


def _open(schema: Any, where: str) -> Iterator[str]:
    """Every object schema inside that lets unknown keys through, and every reference that leaves the schema."""
    if isinstance(schema, list):
        for n, item in enumerate(schema):
            yield from _open(item, f"{where}/{n}")
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if (kind == "object" or (isinstance(kind, list) and "object" in kind)) and schema.get(
        "additionalProperties", True
    ) is True:
        yield where
    if isinstance(schema.get("$ref"), str) and not schema["$ref"].startswith("#"):
        yield f"{where}/$ref"
    for key, value in schema.items():
        if key not in {"enum", "const", "default", "examples"}:
            yield from _open(value, f"{where}/{key}")
