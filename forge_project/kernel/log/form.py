"""How a line looks: one JSON object, redacted."""

import hashlib
import hmac
import logging
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from structlog.typing import EventDict, WrappedLogger

from forge_project.kernel.redaction import Redactor

MAX_TEXT = 20_000  # of one field; a trace is cut in its middle


@cache
def _redactor() -> Redactor:
    return Redactor(hmac.new(settings.SECRET_KEY.encode(), b"redaction\nlog", hashlib.sha256).digest())


def redacted(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Nothing secret leaves: names, shapes and known values, in texts and traces too."""
    return {name: _safe(value) for name, value in _redactor().value(_plain(dict(line))).items()}


def fields(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """What `event` was told, and where it was said."""
    record: logging.LogRecord = line["_record"]
    line["component"] = record.name.removeprefix("forge.")
    line.update(record.__dict__.get("forge", {}))
    return line


def _plain(value: Any) -> Any:
    """As JSON has it; anything else as its text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value if value is None or type(value) in (str, int, float, bool) else str(value)


def _safe(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return value[: MAX_TEXT // 2] + " … " + value[-MAX_TEXT // 2 :]
    return value


def formatter() -> logging.Formatter:
    """For the handler."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.stdlib.add_log_level,
            fields,
            structlog.processors.format_exc_info,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            redacted,
            structlog.processors.JSONRenderer(),
        ],
    )
