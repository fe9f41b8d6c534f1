"""An operator says that a worker elsewhere is dead: what was not there when it was looked for did not happen."""

from uuid import UUID

from django.db.models.functions import Now

from executions.models import Execution, Worker
from executions.services import workers
from executions.states import Status
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Missing
from forge_project.ledger.events import fact
from forge_project.ledger.governance import governing


def declare_dead(worker_id: str, *, actor: str) -> Worker:
    """The worker, whose unknown effects are looked at again at once. Raises Missing; Conflict where it is seen alive.

    Should it wake up after all, it begins nothing any more.
    """
    worker = _worker(worker_id)
    if workers.here(worker) and not workers.proven_dead(worker):
        raise Conflict("that worker's process is there: stop it, or let reconcile do so", worker=worker_id)
    if not workers.proven_dead(worker) and not workers.stale(worker):
        raise Conflict("that worker's heart beats", worker=worker_id, heartbeat=clock.text(worker.heartbeat))
    with governing() as page:
        if Worker.objects.filter(pk=worker.pk, dead_at=None).update(dead_at=Now()) == 1:
            page.add(fact("worker.declared_dead", worker=str(worker.pk), host=worker.host, actor=actor))
    left = Execution.objects.filter(status=Status.UNKNOWN, attempts__worker=worker).values("pk")
    Execution.objects.filter(pk__in=left).exclude(due_at=None).update(due_at=clock.now())
    worker.refresh_from_db()
    return worker


def _worker(worker_id: str) -> Worker:
    try:
        found = Worker.objects.filter(pk=UUID(worker_id)).first()
    except ValueError:
        found = None
    if found is None:
        raise Missing("no such worker", worker=worker_id[:100])
    return found
