"""Drives one guest through one attempt: turns in, calls out, results back, until it ends or waits for a person."""

from collections import deque
from collections.abc import Collection
from contextvars import copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from django.conf import settings

from approvals.models import Approval
from approvals.policy import Verdict
from approvals.states import State
from executions.models import Call
from executions.sandbox.guest import Guest
from executions.sandbox.replay import RecordedTurn, Tape
from executions.sandbox.shapes import Answer, Complete, Fatal, Lookup, Settled, StateWrite, Turn
from executions.services import calls, catalog, history, lookups, session_state, sleeping, turns
from executions.services.attempt import Attempt, replay_digest
from executions.services.calls import Job, Report
from executions.services.close import Leftovers
from executions.services.ending import Ending, Parked, Stopped
from executions.services.faults import log
from executions.services.first_start import FirstStart
from executions.services.journal import Ended
from executions.services.rejections import reject_decided, unavailable
from executions.states import CallStatus
from forge_project.kernel import clock, hot

POLL_SECONDS = 0.25  # how often decisions are looked for while something else still runs
LINGER_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the guest is told next, and when it was."""

    given: tuple[int, ...]
    grant: int
    now: int
    catalog: tuple[Answer, ...] = ()


class Script:
    """One attempt's conversation with its guest. `run` returns how it ended; the closing is not its business."""

    def __init__(self, attempt: Attempt, guest: Guest, first: FirstStart | None) -> None:
        self._attempt, self.guest, self._first = attempt, guest, first
        self._tape = Tape(replay_digest(attempt.execution))
        self._turn = 0
        self._batch = _Batch((), 0, first.now if first else 0)
        self._running: dict[int, Call] = {}
        self._waiting: dict[int, Call] = {}
        self._sleeping = sleeping.Sleepers()
        self._ready: deque[Settled] = deque()
        self._lookups: tuple[Lookup, ...] = ()
        self._unwritten: list[tuple[Call, Ended]] = []
        self._reports: SimpleQueue[Report] = SimpleQueue()
        self._unknown = self._stopped = False
        self._last_turn: Turn | None = None  # the final one, written by the closing transaction
        self._writes: list[StateWrite] = []

    def leftovers(self, state: session_state.Snapshot) -> Leftovers:
        """What the closing transaction still has to write."""
        return Leftovers(unwritten=self._unwritten, last_turn=self._last_turn, state=state, writes=self._writes)

    def run(self) -> Ending:
        """Replays what is recorded, then goes on live."""
        recorded = [] if self._first else history.recorded_turns(self._attempt.execution)
        if recorded:
            replayed = history.replay(self._attempt, self.guest, self._tape, recorded, self._hear)
            if replayed.fault is not None:
                return self._stop_reason(replayed.fault)
            self._turn = recorded[-1].number
            self._reopen(replayed.given)
            if not self.guest.finished and (ended := self._answer()) is not None:
                return ended
        return self._live()

    def go_on(self) -> Ending:
        """After parking was refused: something was decided meanwhile."""
        if (ended := self._answer()) is not None:
            return ended
        return self._live()

    def settle_unwritten(self) -> None:
        """Makes the outcomes durable that no turn of this attempt will."""
        turns.write_outcomes(self._attempt.guard, self._unwritten)
        self._unwritten = []

    @property
    def running(self) -> Collection[int]:
        """The calls that a thread still has in its hands."""
        return self._running.keys()

    def collect(self) -> None:
        """Takes what has ended, waiting a moment for it."""
        self._collect(POLL_SECONDS)

    def abandon(self) -> None:
        """Waits for what was dispatched to come to its end, and leaves it at that."""
        while self._running:
            del self._running[self._reports.get().n]

    @property
    def unknown(self) -> bool:
        """Whether a call's effect can't be known."""
        return self._unknown

    def _live(self) -> Ending:
        while True:
            frame = self.guest.receive(deadline=self._attempt.deadline, stop=self._attempt.stop)
            if isinstance(frame, Turn) and self.guest.finished:
                self._last_words(frame)
                frame = self.guest.receive(deadline=self._attempt.deadline, stop=self._attempt.stop)
            match frame:
                case Turn():
                    self._commit(frame)
                case Complete():
                    return frame
                case Fatal():
                    return self._stop_reason(frame)
            if self._nothing_due():
                continue  # it spoke but waits for nothing: its terminal frame is on the way
            if (ended := self._answer()) is not None:
                return ended

    def _last_words(self, turn: Turn) -> None:
        """A turn whose terminal frame follows at once: the closing writes it, unless it asks for calls."""
        if turn.calls or turn.sleep:
            self._commit(turn)
        else:
            self._hear(turn)
            self._last_turn = turn

    def _stop_reason(self, frame: Fatal) -> Ending:
        """A guest killed because this worker drains did not fail."""
        if frame.code == "CANCELLED" and not self._attempt.cancelled():
            return Stopped()
        return frame

    def _nothing_due(self) -> bool:
        return not (self._running or self._waiting or self._sleeping or self._ready or self._lookups)

    def _hear(self, turn: Turn) -> None:
        """State is an overlay over the whole script, replayed turns included; the next settle answers lookups."""
        self._writes += turn.state
        self._lookups = turn.catalog

    def _commit(self, turn: Turn) -> None:
        self._hear(turn)
        self._turn += 1
        said = self._tape.said(turn)
        batch = self._batch
        recorded = RecordedTurn(self._turn, batch.given, batch.grant, batch.now, said, batch.catalog)
        start = self._first.columns(self._attempt) if self._first else {}
        new = self.guest if self._first else None  # a resumed guest was noted before its replay
        attempt = self._attempt
        opened = turns.commit(attempt.guard, attempt.execution, turn, recorded, self._unwritten, guest=new, **start)
        self._first, self._unwritten = None, []
        for one in opened:
            if one.capability is None:
                self._ready.append(history.settled(one.call.n, one.told or {}))
            elif sleeping.sleeps(one.call):
                self._sleeping.add(one.call)
            else:
                self._dispatch(one.call, one.verdict)

    def _dispatch(self, call: Call, verdict: Verdict | None = None) -> None:
        capability = catalog.find(call.tool)
        if capability is None:  # it was there when the call was asked for
            self._ready.append(history.settled(call.n, unavailable(self._attempt.lease, call)))
            return
        job = Job(
            call=call,
            execution=self._attempt.execution,
            capability=capability,
            guard=self._attempt.guard,
            limits=self._attempt.limits,
            verdict=verdict,
        )
        self._running[call.n] = call
        self._attempt.runtime.call(self._attempt.lease.ref, copy_context().run, self._work, job)

    def _work(self, job: Job) -> None:
        """In a pool thread. Whatever happens, the driver hears of it."""
        report = Report(n=job.call.n, state="stopped")
        try:
            report = calls.run(job)
        except Exception as error:  # the database's trouble, or a bug: the attempt breaks off, reconcile looks
            log.error("call broke off: %s", job.call.call_id, exc_info=error)
        finally:
            self._reports.put(report)

    def _reopen(self, given: frozenset[int]) -> None:
        """After replay: what has ended meanwhile is told next, what was decided runs, the rest goes on waiting."""
        execution = self._attempt.execution
        ours = hot.values(Call, ("id", "n"), {"execution_id": execution.pk, "round": execution.round})
        for call in hot.rows(Call, {"id": tuple(pk for pk, n in ours if n not in given)}, order="n"):
            match CallStatus(call.status):
                case CallStatus.REQUESTED if sleeping.sleeps(call):
                    self._sleeping.add(call)
                case CallStatus.REQUESTED:
                    self._dispatch(call)
                case CallStatus.AWAITING_APPROVAL:
                    self._waiting[call.n] = call
                case CallStatus.PREPARED:  # a read whose worker died: asked again by this attempt
                    self._redispatch(call)
                case CallStatus.SUCCEEDED | CallStatus.FAILED | CallStatus.REJECTED | CallStatus.RESOLVED:
                    self._ready.append(history.told(self._attempt.execution, (call.n,))[0])

    def _redispatch(self, call: Call) -> None:
        turns.prepare_again(self._attempt.guard, self._attempt.execution, call)
        self._dispatch(call)

    def _answer(self) -> Ending | None:
        """Waits until there is something to tell, tells it; or says how the attempt ends instead."""
        if (ended := self._wait()) is not None:
            return ended
        if self._attempt.stop():  # looked at before every entry: what is told now would start a continuation
            return self._stop_reason(Fatal("CANCELLED", "cancelled"))
        batch = list(self._ready)
        now = clock.millis(clock.now())
        answers, self._lookups = lookups.answers(self._attempt.execution, self._lookups), ()
        delivered = self.guest.settle(batch, grant=len(batch), now=now, catalog=answers)
        for _ in delivered.numbers:
            self._ready.popleft()
        self._batch = _Batch(delivered.numbers, delivered.grant, now, answers)
        return None

    def _wait(self) -> Ending | None:
        idle_since: float | None = None
        self._collect(0)
        while not (self._unknown or self._stopped):  # whatever else is ready: that guest hears nothing more
            if self._ready or self._lookups:
                return None
            for call in self._sleeping.woken():
                self._dispatch(call)
            if self._attempt.stop():
                return self._stop_reason(Fatal("CANCELLED", "cancelled"))
            if clock.monotonic() >= self._attempt.deadline:
                return Fatal("TIMEOUT", "the execution's time is used up")
            self._take_decisions()
            idle = not self._running and not self._ready
            idle_since = (idle_since or clock.monotonic()) if idle else None
            linger, asleep = settings.FORGE_LINGER_MS / 1000, self._sleeping.seconds()
            if idle_since is not None and clock.monotonic() - idle_since >= linger and asleep > linger:
                return Parked()
            self._collect(min(LINGER_POLL_SECONDS if idle else POLL_SECONDS, asleep))
        return Stopped()

    def _collect(self, seconds: float) -> None:
        """Takes the reports that are there, waiting for the first one at most `seconds`."""
        try:
            self._take(self._reports.get(timeout=seconds) if seconds else self._reports.get_nowait())
            while True:
                self._take(self._reports.get_nowait())
        except Empty:
            return

    def _take(self, report: Report) -> None:
        call = self._running.pop(report.n)
        match report.state:
            case "ended":
                self._ready.append(history.settled(report.n, report.told or {}))
                if report.unwritten is not None:
                    self._unwritten.append((call, report.unwritten))
            case "waiting":
                call.refresh_from_db()
                self._waiting[report.n] = call
            case "unknown":
                self._unknown = True
                self._attempt.ended.set()  # nothing more begins beside what nobody knows
            case "stopped":
                self._stopped = True
                self._attempt.hold = self._attempt.hold or report.hold

    def _take_decisions(self) -> None:
        """Decisions made while this attempt lives: approved ones run, the others are rejected."""
        if not self._waiting:
            return
        refs = {call.approval_ref: call for call in self._waiting.values()}
        for approval in hot.rows(Approval, {"ref": tuple(refs), "state": hot.Not(State.PENDING)}):
            call = refs[approval.pk]
            del self._waiting[call.n]
            if approval.state == State.APPROVED:
                self._dispatch(call)
            else:
                told: dict[str, Any] = reject_decided(self._attempt.lease, call, approval)
                self._ready.append(history.settled(call.n, told))
