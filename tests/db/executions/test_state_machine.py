"""Any order of submit, approve, deny, revoke, expire, cancel, work, crash, restart, reconcile and retry.

After each step: an effect is in the world at most once, and only after its dispatch is on the record; what has ended
stays ended; no write without an approval that was consumed. At the end everything is driven to its end, and the record
and the world agree.
"""

import os
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from approvals.models import Approval
from approvals.services import Revoke, revoke
from executions.errors import IdempotencyConflict
from executions.models import Call, Execution, Worker
from executions.services import workers
from executions.services.cancel import Cancel, cancel
from executions.services.expire import expire_due
from executions.services.reconcile import reconcile
from executions.services.runtime import Runtime
from executions.states import TERMINAL
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import Conflict, ForgeError
from forge_project.ledger.models import Event
from tests import environment
from tests.db.executions import answer, run_all, run_one, send
from tests.inotify import Renames

pytestmark = pytest.mark.django_db(transaction=True)
STEPS = int(os.environ.get("FORGE_TEST_STEPS", "2000" if environment.REQUIRE_ALL else "500"))
A_CASE = 50
SCRIPT = """
const tries = async (tool, args) => { try { return await tools.call(tool, args) } catch (e) { return e.code } };
await tries('tests.marker', {text: input});
await tries('file.write', {path: input, content: 'new'});
return 'done';
"""
FINAL = frozenset(("succeeded", "cancelled"))  # the others may be asked again with their key
CRASHES = sorted(failpoints.NAMES - {name for name in failpoints.NAMES if name.startswith("ledger.")})
ALL_POINTS = st.sampled_from(CRASHES)
ANY = st.integers(0, 10**6)


def machine(caller, approver, folder, marker, zygotes):
    """The state machine class over one database; each example goes on with executions of its own."""
    renames, count, steps = Renames(folder), [0], [0]

    class Life(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.refs, self.bodies, self.ended = {}, {}, {}
            self.runtime = self._worker()

        def _worker(self):
            made = Runtime(zygotes=zygotes)
            workers.register(made)
            return made

        def _pick(self, rows, at):
            found = list(rows)
            return found[at % len(found)] if found else None

        def _approvals(self, *states):
            return Approval.objects.filter(execution_ref__in=self.refs.values(), state__in=states).order_by("ref")

        @rule(kind=st.sampled_from(["mark", "write", "script"]), interruption=st.sampled_from(["fail", "resume"]))
        def submit(self, kind, interruption):
            count[0] += 1
            name = f"e{count[0]}"
            body = {"interruption": interruption, "workspace": "ws"}
            body |= {
                "mark": {"capability": "tests.marker", "input": {"text": name}},
                "write": {"capability": "file.write", "input": {"path": name, "content": "new"}},
                "script": {"source": SCRIPT, "input": name},
            }[kind]
            self.bodies[name] = body
            self.refs[name] = send(caller, name, **body).ref

        @precondition(lambda self: self.refs)
        @rule(at=ANY, same=st.booleans())
        def retry(self, at, same):
            name = self._pick(sorted(self.refs), at)
            if same:
                assert send(caller, name, **self.bodies[name]).ref == self.refs[name]
                return
            other = self.bodies[name] | {"timeout_ms": 5000, "input": "other"}
            with pytest.raises((IdempotencyConflict, ForgeError)):
                send(caller, name, **other)

        @rule()
        def work(self):
            run_one(self.runtime)

        @rule(point=ALL_POINTS, nth=st.integers(1, 2), does=st.sampled_from(["work", "reconcile"]))
        def crash(self, point, nth, does):
            failpoints.arm(f"{point}:{nth}=crash")
            try:
                with suppress(failpoints.Crash):
                    run_one(self.runtime) if does == "work" else reconcile(self.runtime)
            finally:
                failpoints._armed.clear()

        @rule()
        def restart(self):
            Worker.objects.filter(pk=self.runtime.worker_id).update(pid=2**22 + 5, start_time=1)
            self.runtime.calls.shutdown(wait=True)
            self.runtime = self._worker()

        @rule()
        def settle(self):
            reconcile(self.runtime)

        @rule(at=ANY, decision=st.sampled_from(["approve", "approve", "deny"]))
        def decide(self, at, decision):
            if (row := self._pick(self._approvals("pending"), at)) is not None:
                answer(row, approver, decision)

        @rule(at=ANY)
        def take_back(self, at):
            if (row := self._pick(self._approvals("pending", "approved"), at)) is not None:
                revoke(Revoke(approval_ref=row.ref, actor=approver, reason="taken back"))

        @rule(at=ANY)
        def expire(self, at):
            if (row := self._pick(self._approvals("pending", "approved"), at)) is not None:
                Approval.objects.filter(pk=row.pk).update(expires_at=clock.now())
                expire_due()

        @precondition(lambda self: self.refs)
        @rule(at=ANY)
        def stop(self, at):
            ref = self.refs[self._pick(sorted(self.refs), at)]
            with suppress(Conflict):
                cancel(Cancel(execution_ref=ref, actor="user:ann", reason="stop"))

        @invariant()
        def holds(self):
            steps[0] += 1
            for name, row in self._rows().items():
                marks, writes = self._world(name)
                assert max(marks, writes) <= 1, f"{name}: {marks} markers, {writes} writes"
                dispatches = Event.objects.filter(invocation=row.ref, kind="tool_dispatch").count()
                assert dispatches >= marks + writes
                consumed = Approval.objects.filter(execution_ref=row.ref, state="consumed").count()
                assert writes <= consumed
                if name in self.ended and self.ended[name] in FINAL:
                    assert row.status == self.ended[name]
                if row.status in TERMINAL:
                    self.ended[name] = row.status

        def _rows(self):
            found = {row.ref: row for row in Execution.objects.filter(pk__in=self.refs.values())}
            return {name: found[ref] for name, ref in self.refs.items()}

        def _world(self, name):
            lines = marker.read_text().splitlines() if marker.exists() else []
            return sum(line.endswith(f" {name}") for line in lines), renames.names().count(name)

        def teardown(self):
            failpoints._armed.clear()
            for _ in range(12):
                reconcile(self.runtime)
                Execution.objects.exclude(due_at=None).update(due_at=None)
                run_all(self.runtime)
                for row in self._approvals("pending"):
                    answer(row, approver)
            self.runtime.calls.shutdown(wait=True)
            for name, row in self._rows().items():
                assert row.status in TERMINAL, (name, row.status)
                applied = set(Call.objects.filter(execution=row, side_effect="applied").values_list("tool", flat=True))
                marks, writes = self._world(name)
                assert ("tests.marker" in applied, "file.write" in applied) == (marks == 1, writes == 1), name
            assert not set(self._approvals("pending", "approved"))

    return Life, steps


def test_any_order_of_everything(caller, workspace, approver, folder, marker, zygotes, settings):
    settings.FORGE_LINGER_MS = 0
    settings.FORGE_CALLER_QUEUED = settings.FORGE_CALLER_PENDING = 10_000
    life, steps = machine(caller, approver, folder, marker, zygotes)
    while steps[0] < STEPS:
        run_state_machine_as_test(life, settings=SETTINGS)
    assert Execution.objects.exclude(status__in=TERMINAL).count() == 0


SETTINGS = settings(
    max_examples=5,
    stateful_step_count=A_CASE,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
