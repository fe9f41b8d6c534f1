"""What belongs to an execution's record but stands in other rows; read for a whole page at once."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, F

from approvals.models import Approval
from approvals.models import Question as Asked
from approvals.states import State
from executions.bounds import Hold
from executions.models import Call, Execution
from executions.selectors import holds
from executions.states import TERMINAL
from forge_project.ledger.models import Invocation
from forge_project.ledger.selectors import Receipt

_RANK = {State.PENDING: 2, State.APPROVED: 1, State.CONSUMED: 1}  # what waits, then what is used, then the latest


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
    calls = Call.objects.filter(execution__in=refs, round=F("execution__round"))
    for ref, count in calls.values_list("execution").annotate(n=Count("pk")):
        found[ref].calls = count
    left = calls.exclude(evidence=[], artifact_refs=[]).order_by("n")
    for ref, evidence, artifacts in left.values_list("execution", "evidence", "artifact_refs"):
        found[ref].evidence += evidence
        found[ref].artifact_refs += [artifact for artifact in artifacts if artifact not in found[ref].artifact_refs]
    asked = Approval.objects.filter(execution_ref__in=refs).order_by("requested_at", "ref")
    best: dict[str, int] = defaultdict(int)
    told = list(asked.values_list("ref", "execution_ref", "state"))
    for approval, ref, state in told:
        if (rank := _RANK.get(State(state), 0)) >= best[ref]:
            best[ref], found[ref].approval_ref = rank, approval
    if any(state == State.PENDING for _, _, state in told):
        waiting = Asked.objects.filter(
            approval__execution_ref__in=refs, approval__state=State.PENDING, answered_at=None
        )
        for ref, approval, n in waiting.order_by("-asked_at", "-n").values_list(
            "approval__execution_ref", "approval", "n"
        ):
            found[ref].question = (approval, n)
    heads = Invocation.objects.filter(pk__in=list(chains))
    for chain, head, seq in heads.values_list("pk", "head_hash", "head_seq"):
        found[chains[chain]].receipt = Receipt(head=head, seq=seq)
    for row, hold in _held(rows):
        found[row.pk].held = hold
    return found


def _held(rows: list[Execution]) -> Iterable[tuple[Execution, Hold]]:
    """What stands in the way of those that have not ended."""
    standing = holds.standing() if any(row.status not in TERMINAL for row in rows) else []
    for row in rows if standing else ():
        if row.status not in TERMINAL and (hold := holds.held_by(row, (), standing)) is not None:
            yield row, hold
