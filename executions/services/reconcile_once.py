"""Reconciliation from a command: a worker for the length of one look."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from executions.services import workers
from executions.services.heartbeat import Heartbeat
from executions.services.reconcile import Found, reconcile
from executions.services.reobserve import reobserve_due
from executions.services.runtime import Runtime

_NEEDS_A_PERSON = frozenset(("unknown", "quarantined", "would be settled"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What was found; `problem`: something is left that needs a person, or (dry run) another look."""

    found: list[Found]
    problem: bool


def reconcile_once(
    *, dry_run: bool = False, quarantined: bool = False, progress: Callable[[int], object] | None = None
) -> Reconciled:
    """Settles what dead workers left. It registers as a worker, so that a death in the middle is settled too."""
    runtime = Runtime()
    if dry_run:
        found = reconcile(runtime, dry_run=True, progress=progress)
    else:
        workers.register(runtime)
        try:
            with Heartbeat(runtime):
                found = reconcile(runtime, quarantined=quarantined, progress=progress)
                if runtime.watching:  # a silent worker is given up only if it stays so before our eyes
                    time.sleep(workers.WATCH_SECONDS)
                    found += reconcile(runtime, progress=progress)
                found += reobserve_due(runtime)
        finally:
            runtime.close()
            workers.stop(runtime.worker_id)
    return Reconciled(found=found, problem=any(one.became in _NEEDS_A_PERSON for one in found))
