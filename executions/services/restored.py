"""After a restore from a backup: nothing that may have gone on since is ever run again, and the ledger says so."""

from collections.abc import Callable
from dataclasses import dataclass

from executions.models import Execution
from executions.services.reconcile_once import reconcile_once
from executions.states import TERMINAL
from forge_project.ledger import restoring
from forge_project.ledger.events import fact
from forge_project.ledger.governance import governing


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The checkpoint that goes on (None: the database is not older than its sink), and what was set aside."""

    checkpoint: int | None
    settled: int = 0
    set_aside: tuple[str, ...] = ()


def restored(actor: str, progress: Callable[[int], object] | None = None) -> Restored:
    """Settles what was running, sets aside what had gone further than this database knows, lets dispatches go on."""
    if not restoring.behind():
        return Restored(checkpoint=None)
    done = reconcile_once(progress=progress)
    aside = []
    for ref, seq in restoring.rolled_back():
        rows = Execution.objects.filter(pk=ref.partition("~")[0]).exclude(status__in=TERMINAL)
        if rows.update(quarantined=f"restored from a backup: its chain had gone on to seq {seq}"):
            aside.append(ref)
    with governing() as page:
        page.add(fact("ledger.restored", actor=actor, set_aside=len(aside)))
    return Restored(checkpoint=restoring.restore(), settled=len(done.found), set_aside=tuple(aside))
