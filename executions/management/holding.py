"""What `hold` and `release` share: what is meant, and who says so."""

import getpass
from typing import Any

from django.core.management.base import CommandParser

from executions.bounds import HeldKind

_NAMED = (HeldKind.CALLER, HeldKind.WORKSPACE, HeldKind.CAPABILITY)


def add_arguments(parser: CommandParser) -> None:
    """One of --caller, --workspace, --capability, or none for everything; always a reason."""
    one = parser.add_mutually_exclusive_group()
    for kind in _NAMED:
        one.add_argument(f"--{kind.value}", metavar="NAME")
    parser.add_argument("--reason", required=True)


def meant(options: dict[str, Any]) -> dict[str, Any]:
    """The service's words for what was typed."""
    kind = next((kind for kind in _NAMED if options[kind.value] is not None), HeldKind.EVERYTHING)
    target = options.get(kind.value) or ""
    return {"kind": kind, "target": target, "reason": options["reason"], "actor": f"os:{getpass.getuser()}"}
