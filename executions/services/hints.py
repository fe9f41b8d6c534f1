"""A hint means *look*: sent after commit, may be lost, late or doubled; the sweep over the rows covers it."""

import logging

from celery import current_app
from django.db import transaction

from forge_project.kernel import failpoints

log = logging.getLogger("forge.hints")


def send_on_commit() -> None:
    """Wakes a worker once the current transaction is there to be seen."""
    transaction.on_commit(send)


def send() -> None:
    """Wakes a worker; a broker that is down costs seconds, never truth."""
    failpoints.reach("publish.before")
    try:
        current_app.send_task("executions.advance", ignore_result=True, retry=False)
    except Exception as error:
        log.warning("hint not sent, the sweep will find the row: %s", type(error).__name__)
    failpoints.reach("publish.after")
