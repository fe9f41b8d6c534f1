"""Celery's side: hints that arrive, and the worker process that Celery's worker carries."""

import logging
import os
import sys
from typing import Any

from celery import Task, shared_task
from celery.signals import worker_init, worker_ready, worker_shutdown, worker_shutting_down
from celery.worker.request import Request
from django.conf import settings
from django.db import DatabaseError

from executions.services.worker import WorkerProcess
from forge_project.kernel.errors import NotReady
from forge_project.kernel.log.event import event

log = logging.getLogger("forge.worker")
_process: list[WorkerProcess] = []  # one per process, from worker_init to worker_shutdown


class Taken(Request):
    """A message nobody waits for an answer to, where the queue says so: kombu would send Redis one all the same."""

    def acknowledge(self) -> None:
        """Tells the broker, if it wants to know."""
        if settings.CELERY_TASK_QUEUES[0].no_ack:
            self.acknowledged = True
        else:
            super().acknowledge()


class Hinted(Task[Any, None]):
    """A task that is only a hint."""

    Request = f"{__name__}:Taken"


@shared_task(name="executions.advance", bind=True, ignore_result=True, base=Hinted)
def advance(self: Any) -> None:
    """A hint: look for work. What an attempt is traced by stands in its row: a hint may be lost or doubled."""
    told = self.request.headers or {}
    event("worker", "woken", correlation_id=told.get("correlation_id"), traceparent=told.get("traceparent"))
    for process in _process:
        process.look()


@shared_task(name="executions.reconcile", ignore_result=True, base=Hinted)
def reconcile() -> None:
    """A hint: settle what dead workers left."""
    for process in _process:
        process.reconcile_soon()


@worker_init.connect
def _start(sender: Any = None, **_: Any) -> None:
    """In the worker's main thread, before it takes a task."""
    pool = getattr(sender, "pool_cls", None)
    if "thread" not in str(getattr(pool, "__module__", pool)):
        sys.stderr.write("forge: the worker needs --pool threads: one zygote and one heartbeat per process\n")
        sys.exit(2)
    try:
        _process.append(WorkerProcess())
    except NotReady as error:
        sys.stderr.write(f"forge: {error.message}\n")
        sys.exit(3)
    except DatabaseError as error:
        sys.stderr.write(f"forge: the database can't be used: {str(error).splitlines()[0]}\n")
        sys.exit(3)


@worker_ready.connect
def _ready(**_: Any) -> None:
    reconcile.delay()


@worker_shutting_down.connect
def _no_more(**_: Any) -> None:
    """Celery's loop may take seconds to notice; nothing new is claimed from the signal on."""
    for process in _process:
        process.stop_claiming()


@worker_shutdown.connect
def _shutdown(**_: Any) -> None:
    while _process:
        if not _process.pop().drain():
            # An effect outlasts the time there is: the next worker looks what became of it.
            log.error("something still ran when the time to drain was up; it is settled by looking")
            logging.shutdown()
            os._exit(0)
