"""What belongs to an execution's record but stands in other rows; read for a whole page at once."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from approvals.models import Approval
from approvals.models import Question as Asked
from approvals.states import State
from executions.bounds import Hold
from executions.models import Execution
from executions.selectors import holds
from executions.states import TERMINAL
from forge_project.kernel import hot, plain
from forge_project.ledger.models import Invocation
from forge_project.ledger.selectors import Receipt

_RANK = {State.PENDING: 2, State.APPROVED: 1, State.CONSUMED: 1}  # what waits, then what is used, then the latest
# Part of every answer, and dearer to build by the ORM than to run.
_OF_ROUND = """FROM executions_call c JOIN executions_execution e ON e.ref = c.execution_id AND e.round = c.round
    WHERE c.execution_id IN ({refs})"""
_COUNTS = f"SELECT c.execution_id, COUNT(*) {_OF_ROUND} GROUP BY c.execution_id"
_LEFT = f"SELECT c.execution_id, c.evidence, c.artifact_refs {_OF_ROUND} "
_LEFT += "AND NOT (c.evidence = '[]' AND c.artifact_refs = '[]') ORDER BY c.n"


@dataclass(slots=True)
class Traces:
    """Of one execution: its approval to look at, the question of a person that waits longest for its answer (approval,
    n), what its calls left, its receipt once it is terminal."""

    approval_ref: str = ""
    question: tuple[str, int] | None = None
    calls: int = 0
    evidence: list[dict[str, Any]] = field(default_factory=list)
    artifact_refs: list[str] = field(default_factory=list)
    receipt: Receipt | None = None
    held: Hold | None = None


def of(rows: Iterable[Execution]) -> dict[str, Traces]:
    """The traces by ref, of every row."""
    rows = list(rows)
    refs = [row.pk for row in rows]
    chains = {row.invocation_id: row.pk for row in rows if row.status in TERMINAL}
    found: dict[str, Traces] = defaultdict(Traces)
    for ref, count in _read(_COUNTS, refs):
        found[ref].calls = count
    for ref, told, made in _read(_LEFT, list(found)):
        found[ref].evidence += json.loads(told)
        found[ref].artifact_refs += [ref_ for ref_ in json.loads(made) if ref_ not in found[ref].artifact_refs]
    asked = hot.values(Approval, ("requested_at", "ref", "execution_ref", "state"), {"execution_ref": tuple(refs)})
    best: dict[str, int] = defaultdict(int)
    for _, approval, ref, state in sorted(asked):
        if (rank := _RANK.get(State(state), 0)) >= best[ref]:
            best[ref], found[ref].approval_ref = rank, approval
    waiting = {approval: ref for _, approval, ref, state in asked if state == State.PENDING}
    for approval, n in _unanswered(tuple(waiting)):
        found[waiting[approval]].question = (approval, n)
    for chain, head, seq in hot.values(Invocation, ("id", "head_hash", "head_seq"), {"id": tuple(chains)}):
        found[chains[chain]].receipt = Receipt(head=head, seq=seq)
    for row, hold in _held(rows):
        found[row.pk].held = hold
    return found


def _unanswered(approvals: tuple[str, ...]) -> Iterable[tuple[str, int]]:
    """(approval, n) of what the agent was asked and has not answered, the oldest last."""
    if not approvals:
        return ()
    open_ = {"approval_id": approvals, "answered_at": None}
    found = hot.values(Asked, ("asked_at", "n", "approval_id"), open_)
    return [(approval, n) for _, n, approval in sorted(found, reverse=True)]


def _read(text: str, refs: list[str]) -> list[tuple[Any, ...]]:
    if not refs:
        return []
    return plain.rows(text.format(refs=", ".join(["%s"] * len(refs))), refs)


def _held(rows: list[Execution]) -> Iterable[tuple[Execution, Hold]]:
    """What stands in the way of those that have not ended."""
    standing = holds.standing() if any(row.status not in TERMINAL for row in rows) else []
    for row in rows if standing else ():
        if row.status not in TERMINAL and (hold := holds.held_by(row, (), standing)) is not None:
            yield row, hold
