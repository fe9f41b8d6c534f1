"""Says that something happened."""

import logging
from contextlib import suppress
from typing import Any


def event(component: str, name: str, /, *, level: int = logging.INFO, **fields: Any) -> None:
    """One line; empty fields are left out. Whatever goes wrong in logging stays here."""
    with suppress(Exception):
        told = {key: value for key, value in fields.items() if value not in ("", None)}
        logging.getLogger(f"forge.{component}").log(level, name, extra={"forge": told})
