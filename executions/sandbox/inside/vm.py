"""One engine context with the prelude in it: made in the zygote, used by the guest that inherits it."""

import os
from typing import Any

import _quickjs

from .prelude_files import FUNCTIONS
from .rejections import watch


def installed() -> tuple[str, str]:
    """Name and version of the engine that was really imported, by the distribution beside it."""
    for entry in os.listdir(os.path.dirname(_quickjs.__file__)):
        name, _, rest = entry.partition("-")
        if name in ("quickjs_ng", "quickjs") and rest.endswith(".dist-info"):
            return name.replace("_", "-"), rest.removesuffix(".dist-info")
    return "unknown", "unknown"


class Vm:
    """The prelude's functions over one context; only ASCII JSON text passes through them."""

    def __init__(self, prelude: str) -> None:
        self.context: Any = _quickjs.Context()
        self.context.set("__prelude__", self.context.eval(prelude))
        self.start, self.settle, self.turn, self.end, track = (
            self.context.eval(f"__prelude__.{name}") for name in FUNCTIONS
        )
        self.context.eval("delete globalThis.__prelude__")
        self._kept = (track, watch(_quickjs.__file__, self.context, track))

    def limit(self, *, memory_bytes: int, stack_bytes: int) -> None:
        """The engine's own limits; they hold from the first byte of the source on."""
        self.context.set_memory_limit(memory_bytes)
        self.context.set_max_stack_size(stack_bytes)
