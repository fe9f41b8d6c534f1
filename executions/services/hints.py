"""A hint means *look*: sent after commit, may be lost, late or doubled; the sweep over the rows covers it."""

import logging

from celery import current_app
from django.db import transaction

from forge_project.kernel import clock, failpoints
from forge_project.kernel.log import trace

log = logging.getLogger("forge.hints")
QUIET_SECONDS = 5.0  # after a failure nobody else waits for the same broken broker
_TRACE = ("correlation_id", "traceparent")  # for the log: which request woke whom
_quiet_until = 0.0


def send_on_commit() -> None:
    """Wakes a worker once the current transaction is there to be seen."""
    transaction.on_commit(send)


def send() -> None:
    """Wakes a worker; a broker that is down costs one caller seconds, then none, and never truth."""
    global _quiet_until  # noqa: PLW0603  # one moment for the whole process
    failpoints.reach("publish.before")
    if clock.monotonic() < _quiet_until:
        return
    try:
        told = {name: value for name in _TRACE if (value := trace.current(name))}
        current_app.send_task("executions.advance", ignore_result=True, retry=False, headers=told)
    except Exception as error:
        _quiet_until = clock.monotonic() + QUIET_SECONDS
        log.warning("hint not sent, the sweep will find the row: %s", type(error).__name__)
    failpoints.reach("publish.after")
