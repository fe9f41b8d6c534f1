"""Worker rows: registered at start, beaten by the database's clock, and looked at when they may be dead."""

import os
from datetime import timedelta
from typing import Literal
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from executions.models import Worker
from executions.services import processes
from executions.services.runtime import Runtime

Liveness = Literal["alive", "dead", "elsewhere"]


def register(runtime: Runtime, *, isolation: str = "", engine: str = "") -> Worker:
    """This process as a worker."""
    started = processes.start_time(os.getpid())
    return Worker.objects.create(
        id=runtime.worker_id,
        host=settings.FORGE_HOST_ID,
        pid=os.getpid(),
        start_time=started or 0,
        boot_id=processes.boot_id(),
        pid_namespace=processes.pid_namespace(),
        isolation=isolation,
        engine=engine,
        started_at=Now(),
        heartbeat=Now(),
    )


def beat(runtime: Runtime) -> None:
    """One heartbeat, by the database's clock; fresh only once it is committed."""
    if Worker.objects.filter(pk=runtime.worker_id).update(heartbeat=Now()) == 1:
        runtime.beaten()


def stop(worker_id: UUID) -> None:
    """Says that this worker ended in good order."""
    Worker.objects.filter(pk=worker_id).update(stopped_at=Now(), heartbeat=Now())


def gone(worker: Worker) -> bool:
    """Whether that exact process of this very boot and namespace is no more; elsewhere nobody can tell from here."""
    here = (worker.boot_id, worker.pid_namespace) == (processes.boot_id(), processes.pid_namespace())
    return here and not processes.alive(worker.pid, worker.start_time)


def liveness(worker: Worker, *, kill: bool) -> Liveness:
    """Whether that exact process is gone (`kill`: a stale living one is ended first); elsewhere is not ours to say."""
    if (worker.boot_id, worker.pid_namespace) != (processes.boot_id(), processes.pid_namespace()):
        return "elsewhere"
    if gone(worker):
        return "dead"
    if not _stale(worker):
        return "alive"
    if not kill:
        return "dead"  # as it would be
    return "dead" if processes.kill(worker.pid, worker.start_time) else "alive"


def _stale(worker: Worker) -> bool:
    limit = timedelta(seconds=settings.FORGE_LEASE_SECONDS)
    return worker.pid != os.getpid() and Worker.objects.filter(pk=worker.pk, heartbeat__lt=Now() - limit).exists()
