"""Placeholders of masked secrets must not be written back as if they were content."""

import re
from collections import Counter

from forge_project.kernel.errors import Denied

_MARKER = re.compile(rb"\[SECRET:[^\]\s]*")


def refuse_new(before: bytes | None, after: bytes | None, target: str) -> None:
    """Raises Denied, code REDACTED_PLACEHOLDER, when `after` holds a `[SECRET:` marker that `before` does not."""
    added = Counter(_MARKER.findall(after or b"")) - Counter(_MARKER.findall(before or b""))
    if added:
        raise Denied(
            "this would write a masked secret's placeholder into the file",
            code="REDACTED_PLACEHOLDER",
            rule="secret.placeholder",
            target=target,
        )
