"""What a script is started with, made once and sealed with its first turn: every later attempt gets the same."""

import secrets
from dataclasses import dataclass
from typing import Any

from executions.models import Attempt as AttemptRow
from executions.models import Execution
from executions.sandbox.guest import Guest
from executions.sandbox.shapes import Start
from executions.services import lookups, sealed, session_state
from executions.services.attempt import Attempt
from executions.services.processes import start_time
from executions.transitions import Lease
from forge_project.kernel import clock, hot


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStart:
    """Seed, clock, state snapshot and catalog of an execution that no committed turn has fixed yet."""

    seed: str
    now: int
    state: session_state.Snapshot
    catalog: list[str]

    def columns(self, attempt: Attempt) -> dict[str, Any]:
        """What the first committed turn writes to the execution's row."""
        kept = {"seed": self.seed, "now": self.now, "state": self.state, "catalog": self.catalog}
        return {"sealed_start": sealed.seal(kept)} | surroundings(attempt)


def surroundings(attempt: Attempt) -> dict[str, Any]:
    """What guests run in here, as the record names it."""
    zygote = attempt.runtime.zygotes.current()
    return {
        "engine": f"{zygote.engine.name} {zygote.engine.version}",
        "isolation": zygote.isolation,
        "selection_reason": zygote.selection_reason or "nothing is missing on this host",
    }


def note_guest(lease: Lease, guest: Guest) -> None:
    """Which process the guest is: the reconciler makes sure of its end."""
    mine = {"execution_id": lease.ref, "number": lease.attempt}
    hot.update(AttemptRow, mine, {"guest_pid": guest.pid, "guest_start_time": start_time(guest.pid)})


def make(execution: Execution) -> FirstStart:
    """A new beginning."""
    return FirstStart(
        seed=secrets.token_hex(16),
        now=clock.millis(clock.now()),
        state=session_state.snapshot(execution),
        catalog=[capability.name for capability in lookups.usable(execution)],
    )


def sealed_start(execution: Execution) -> FirstStart | None:
    """The beginning fixed by the first committed turn, or None before it."""
    return None if execution.sealed_start is None else FirstStart(**sealed.unseal(execution.sealed_start))


def start_message(attempt: Attempt, first: FirstStart, *, replaying: bool) -> Start:
    """What the guest is given."""
    request = sealed.unseal(attempt.execution.sealed_request)
    return Start(
        source=request["source"],
        input=request.get("input"),
        state=session_state.visible(first.state),
        limits=attempt.limits,
        seed=first.seed,
        now=first.now,
        catalog=first.catalog,
        replaying=replaying,
    )
