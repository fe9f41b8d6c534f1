"""Redaction: what people, logs, ledger and webhooks see, and (known values only) what guest and caller get."""

from forge_project.kernel.redaction.redactor import Redactor
from forge_project.kernel.redaction.stream import Stream

__all__ = ["Redactor", "Stream"]
