"""The few shapes that events are made of; each check raises Invalid with the JSON pointer of the fault."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from forge_project.kernel.errors import Invalid
from forge_project.kernel.strict_json import pointer_token

Check = Callable[[Any, str], None]
ID = re.compile(r"[\x21-\x7e]{1,200}")


def fault(message: str, path: str, rule: str) -> Invalid:
    """An event that is not well formed."""
    return Invalid(message, path=path, rule=f"event.{rule}")


def anything(value: Any, path: str) -> None:
    """Any JSON value."""


def text(value: Any, path: str) -> None:
    """A text, empty or not."""
    if type(value) is not str:
        raise fault("expected a text", path, "text")


def ident(value: Any, path: str) -> None:
    """1-200 visible ASCII characters."""
    if type(value) is not str or not ID.fullmatch(value):
        raise fault("ids are 1-200 visible ASCII characters", path, "id")


def flag(value: Any, path: str) -> None:
    """true or false."""
    if type(value) is not bool:
        raise fault("expected true or false", path, "flag")


def count(value: Any, path: str) -> None:
    """A whole number from 0."""
    if type(value) is not int or value < 0:
        raise fault("expected a whole number from 0", path, "count")


def mapping(value: Any, path: str) -> None:
    """Any object."""
    if type(value) is not dict:
        raise fault("expected an object", path, "object")


def array(value: Any, path: str) -> None:
    """Any array."""
    if type(value) is not list:
        raise fault("expected an array", path, "array")


def idents(value: Any, path: str) -> None:
    """An array of ids."""
    array(value, path)
    for at, one in enumerate(value):
        ident(one, f"{path}/{at}")


def one_of(*allowed: str) -> Check:
    """One text of a closed list."""
    listed = frozenset(allowed)

    def check(value: Any, path: str) -> None:
        if type(value) is not str or value not in listed:
            raise fault(f"expected one of {', '.join(allowed)}", path, "choice")

    return check


def closed(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with exactly these keys."""
    every = {**required, **(optional or {})}

    def check(value: Any, path: str) -> None:
        mapping(value, path)
        for name in required:
            if name not in value:
                raise fault(f"{name} is missing", f"{path}/{name}", "missing")
        for name, inner in value.items():
            known = every.get(name)
            if known is None:
                raise fault("there is no such key", f"{path}/{pointer_token(name[:100])}", "unknown_key")
            known(inner, f"{path}/{name}")

    return check


def kinds(shapes: Mapping[str, Check]) -> Check:
    """One of several shapes, told apart by their `kind`."""

    def check(value: Any, path: str) -> None:
        mapping(value, path)
        kind = value.get("kind")
        if type(kind) is not str or kind not in shapes:
            raise fault(f"kind is one of {', '.join(shapes)}", f"{path}/kind", "kind")
        shapes[kind](value, path)

    return check
