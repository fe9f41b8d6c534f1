"""Watches one execution until it rests: what is new since the last look, as lines a person can read."""

import time
from collections.abc import Iterator

from django.urls import reverse

from approvals.models import Approval
from approvals.states import State
from executions.models import Execution, Output
from executions.states import TERMINAL, Status
from forge_project.kernel import clock

POLL_SECONDS = 0.2
_OVER = TERMINAL | {Status.UNKNOWN}


def decide_at(site: str, approval_ref: str) -> str:
    """Where a person decides it."""
    return site + reverse("admin:approvals_approval_change", args=[approval_ref])


class Follow:
    """The looks at one execution; `site` is where people reach the admin."""

    def __init__(self, ref: str, site: str) -> None:
        self._ref, self._site = ref, site
        self._status = ""
        self._calls: dict[int, str] = {}
        self._progress: object = None
        self._asked: set[str] = set()
        self._said = {"output": 0, "log": 0}

    def lines(self) -> Iterator[str]:
        """Every news until the execution has ended or is `unknown`; blocks in between."""
        while True:
            row = Execution.objects.get(pk=self._ref)
            yield from self._news(row)
            if row.status in _OVER:
                return
            time.sleep(POLL_SECONDS)

    def _news(self, row: Execution) -> Iterator[str]:
        """In the order things come about; the status last, as everything before it belongs to it."""
        if row.progress is not None and row.progress != self._progress:
            self._progress = row.progress
            done = [str(row.progress[name]) for name in ("completed", "total") if name in row.progress]
            yield f"progress  {row.progress['message']} {'/'.join(done)}".rstrip()
        yield from self._new_calls(row)
        yield from self._new_questions(row)
        yield from self._new_text(row)
        if row.status != self._status:
            self._status = row.status
            yield f"status    {row.status}"

    def _new_calls(self, row: Execution) -> Iterator[str]:
        for n, tool, status, code in (
            row.calls.filter(round=row.round).order_by("n").values_list("n", "tool", "status", "error_code")
        ):
            if self._calls.get(n) != status:
                self._calls[n] = status
                yield f"call {n:<4} {tool} {status} {code}".rstrip()

    def _new_questions(self, row: Execution) -> Iterator[str]:
        waiting = Approval.objects.filter(execution_ref=row.ref, state=State.PENDING).order_by("requested_at")
        for approval in waiting.exclude(pk__in=self._asked):
            self._asked.add(approval.pk)
            until = clock.text(approval.expires_at)[:16]
            yield f"waiting   for a person until {until}Z: {approval.sentence}"
            yield f"          {decide_at(self._site, approval.pk)}"

    def _new_text(self, row: Execution) -> Iterator[str]:
        for stream, seen in self._said.items():
            for piece in Output.objects.filter(execution=row, stream=stream, offset__gte=seen).order_by("offset"):
                self._said[stream] = piece.offset + len(piece.text.encode())
                yield from (f"{stream:<9} {line}" for line in piece.text.splitlines())
