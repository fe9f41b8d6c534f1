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
from forge_project.kernel import clock

WATCH_SECONDS = 2.0  # four beats
Liveness = Literal["alive", "dead", "silent"]


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
    """One heartbeat, by the database's clock; fresh only once it is committed, and never again once declared dead."""
    at = clock.boottime()  # before it is sent: whoever reads it counts from then
    if Worker.objects.filter(pk=runtime.worker_id, dead_at=None).update(heartbeat=Now()) == 1:
        runtime.beaten(at)


def stop(worker_id: UUID) -> None:
    """Says that this worker ended in good order."""
    Worker.objects.filter(pk=worker_id).update(stopped_at=Now(), heartbeat=Now())


def here(worker: Worker) -> bool:
    """Whether its pid is one of ours: this host (by its id), this boot, this namespace."""
    ours = (settings.FORGE_HOST_ID, processes.boot_id(), processes.pid_namespace())
    return (worker.host, worker.boot_id, worker.pid_namespace) == ours


def proven_dead(worker: Worker) -> bool:
    """Whether it is certain that it does nothing any more: what it left undone stays undone."""
    if worker.dead_at is not None or worker.stopped_at is not None:
        return True
    dead = not processes.alive(worker.pid, worker.start_time) if here(worker) else _rebooted(worker)
    if dead:
        Worker.objects.filter(pk=worker.pk, dead_at=None).update(dead_at=Now())  # kept: its host may be gone tomorrow
    return dead


def lost(worker: Worker) -> bool:
    """Whether another may take over what it holds: proven dead, or silent elsewhere for longer than a lease."""
    return proven_dead(worker) or (not here(worker) and stale(worker))


def liveness(worker: Worker, runtime: Runtime, *, kill: bool) -> Liveness:
    """What is known of it from here. A stale living one of this host is ended first, and confirmed (with `kill`)."""
    if proven_dead(worker):
        runtime.seen_alive(worker.pk)
        return "dead"
    if not stale(worker):
        runtime.seen_alive(worker.pk)
        return "alive"
    if kill and not runtime.watch(worker.pk, worker.heartbeat, WATCH_SECONDS):
        return "alive"
    if not here(worker):
        return "silent"
    if kill and not processes.kill(worker.pid, worker.start_time):
        return "alive"
    return "dead"  # or would be


def stale(worker: Worker) -> bool:
    """Whether its last heartbeat is older than a lease, by the database's clock."""
    if worker.pid == os.getpid() and here(worker):
        return False
    limit = timedelta(seconds=settings.FORGE_LEASE_SECONDS)
    return Worker.objects.filter(pk=worker.pk, heartbeat__lt=Now() - limit).exists()


def _rebooted(worker: Worker) -> bool:
    """Whether its host has registered a worker of a later boot since it was last heard of."""
    later = Worker.objects.filter(host=worker.host, started_at__gt=worker.heartbeat)
    return later.exclude(boot_id=worker.boot_id).exists()
