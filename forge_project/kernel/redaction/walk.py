"""Rewrites a JSON value leaf by leaf; containers stay what they are, so that its schema still reads it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forge_project.kernel.redaction.names import number_is_secret, sensitive

_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_HIDDEN, _HIDDEN_NUMBERS = 1, 2  # under a sensitive name: texts are masked; numbers too


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """What to do with texts, with texts under a sensitive name (None: names don't matter) and with numbers."""

    mark: re.Pattern[str]  # what a mask looks like
    text: Callable[[str], str]
    leaf: Callable[[str], str] | None
    number: Callable[[float], float]


def rewrite(root: Any, masks: Masks) -> Any:
    """A new value; by a stack of its own, as an agent may nest deeper than Python recurses."""
    holder: list[Any] = [root]
    todo: list[tuple[Any, Any, Any, int]] = [(holder, 0, root, 0)]
    while todo:
        target, key, node, hidden = todo.pop()
        if isinstance(node, dict):
            made: dict[str, Any] = {}
            target[key] = made
            for name, inner, secret in _entries(node, hidden, masks):
                made[name] = None  # holds the place: the stack fills it in any order
                todo.append((made, name, inner, secret))
        elif isinstance(node, list | tuple):
            target[key] = items = [None] * len(node)
            todo.extend((items, at, *entry) for at, entry in enumerate(_items(node, hidden, masks)))
        else:
            target[key] = _scalar(node, hidden, masks)
    return holder[0]


def _scalar(node: Any, hidden: int, masks: Masks) -> Any:
    if node is None or isinstance(node, bool):
        return node
    if isinstance(node, int | float):
        return 0 if hidden == _HIDDEN_NUMBERS else masks.number(node)
    text = node if isinstance(node, str) else str(node)  # no JSON, but better shown masked than not masked
    return masks.leaf(text) if hidden and masks.leaf else masks.text(text)


def _entries(node: dict[Any, Any], hidden: int, masks: Masks) -> list[tuple[str, Any, int]]:
    found: dict[str, tuple[Any, int]] = {}
    for key, inner in node.items():
        name = masks.text(str(key))
        while name in found:  # two masked names that look the same: neither entry may vanish
            name += "~"
        found[name] = (inner, hidden or _secrecy(str(key), masks))
    return [(name, inner, secret) for name, (inner, secret) in found.items()]


def _secrecy(name: str, masks: Masks) -> int:
    if masks.leaf is None:
        return 0
    if "[SECRET:" in name:
        name = masks.mark.sub("0", name)  # the word SECRET in a mask promises nothing
    if not sensitive(name):
        return 0
    return _HIDDEN_NUMBERS if number_is_secret(name) else _HIDDEN


def _items(node: list[Any] | tuple[Any, ...], hidden: int, masks: Masks) -> list[tuple[Any, int]]:
    """Items with their secrecy; in an argv, what follows `--token` is one, and what follows its `=`."""
    found: list[tuple[Any, int]] = []
    after = 0
    for item in node:
        secret, after = hidden or after, 0
        shown = item
        if masks.leaf and not hidden and isinstance(item, str) and item.startswith("-"):
            name, equals, value = item.partition("=")
            if item.startswith("--"):
                secret = 0  # the next flag, not the value of the last one
            if not secret and _FLAG.fullmatch(name) and sensitive(name):
                shown, after = (f"{name}={masks.leaf(value)}", 0) if equals else (item, _HIDDEN_NUMBERS)
        found.append((shown, secret))
    return found
