"""sleep: a row that is due some day; no process and no lease is held for it, and replay knows nothing of the wait."""

from datetime import timedelta

import pytest

from approvals.models import Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Attempt, Call, Execution
from executions.services.cancel import Cancel, cancel
from executions.services.claim import seconds_to_due
from executions.services.expire import expire_due
from executions.services.reconcile import reconcile
from executions.services.sealed import unseal
from forge_project.kernel import clock, failpoints
from forge_project.ledger.journal import standing
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3_600_000
SCRIPT = """
const seed = Math.random(), before = Date.now();
const slept = await sleep(3600000);
return [seed, before, Date.now(), slept, Math.random()];
"""


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


@pytest.fixture
def later(monkeypatch):
    """`later(ms)`: so much time has passed, for everybody."""
    real, passed = clock.now, [timedelta()]
    monkeypatch.setattr(clock, "now", lambda: real() + passed[0])

    def pass_(ms):
        passed[0] += timedelta(milliseconds=ms)

    return pass_


def row(sent):
    return Execution.objects.get(pk=sent.ref)


def told(sent):
    return unseal(row(sent).sealed_result)


def test_a_sleep_holds_nothing_and_goes_on_when_it_is_due(caller, runtime, later):
    sent = send(caller, source=SCRIPT)
    run_all(runtime)
    done = row(sent)
    assert (done.status, done.worker_id, Attempt.objects.get().ending) == ("queued", None, "sleeping")
    due = Call.objects.get().requested_at + timedelta(hours=1)
    assert (done.due_at - due).total_seconds() == pytest.approx(0, abs=0.01)
    assert (run_one(runtime), Call.objects.get().status) == (None, "requested")
    later(HOUR - 60_000)
    assert run_one(runtime) is None
    later(61_000)
    run_all(runtime)
    done = row(sent)
    assert (done.status, done.attempt, done.active_ms < 60_000) == ("succeeded", 2, True)
    seed, before, after, slept, again = told(sent)
    assert (slept, HOUR <= after - before < HOUR + 120_000, seed != again) == ({"ms": HOUR}, True, True)
    call = Call.objects.get()
    assert (call.tool, call.status, call.effect, standing(sent.ref, call.call_id)) == (
        "sleep", "succeeded", "internal", "completed",
    )  # fmt: skip


def test_a_short_one_is_waited_for_in_place(caller, runtime, settings):
    settings.FORGE_LINGER_MS = 2000
    sent = send(caller, source="const t = []; for (const ms of [0, 5, 30]) t.push((await sleep(ms)).ms); return t")
    run_all(runtime)
    assert (row(sent).status, told(sent), row(sent).attempt) == ("succeeded", [0, 5, 30], 1)


def test_several_sleeps_and_a_race_are_replayed_as_they_were(caller, runtime, later, marker):
    source = """
      const seen = [];
      const nap = async (h) => { await sleep(h * 3600000); seen.push(h) };
      await Promise.all([nap(3), nap(1), nap(2), tools.call('tests.marker', {text: 'm'})]);
      seen.push(await Promise.race([sleep(3600000).then(() => 'fast'), sleep(7200000).then(() => 'slow')]));
      return [seen, Date.now(), Math.random()];
    """
    sent = send(caller, source=source)
    for _ in range(4):
        run_all(runtime)
        assert row(sent).status == "queued"
        later(HOUR + 1000)
    run_all(runtime)
    assert (row(sent).status, told(sent)[0]) == ("succeeded", [1, 2, 3, "fast"])
    assert (row(sent).unawaited, len(marker.read_text().splitlines())) == ([6], 1)
    assert Call.objects.get(n=6).status == "rejected"  # the race's loser is given up, not slept to its end


def test_a_crash_in_its_sleep_or_at_its_end_changes_nothing(caller, runtime, later, settings):
    settings.FORGE_MAX_CRASHES = 5
    sent = send(caller, source=SCRIPT, interruption="resume")
    with failpoints.crash_at("t1.after"):
        run_one(runtime)
    reconcile(runtime)
    run_all(runtime)
    due = row(sent).due_at
    assert due - Call.objects.get().requested_at == timedelta(hours=1)  # not from the crash on
    later(HOUR)
    for point in ("t1.after", "close.before"):
        with failpoints.crash_at(point):
            run_one(runtime)
        reconcile(runtime)
        Execution.objects.update(due_at=None)
    run_all(runtime)
    assert (row(sent).status, told(sent)[3], row(sent).attempt) == ("succeeded", {"ms": HOUR}, 5)


def test_a_single_request(caller, runtime, later):
    sent = send(caller, capability="sleep", input={"ms": HOUR})
    run_all(runtime)
    assert (row(sent).status, row(sent).worker_id, run_one(runtime)) == ("queued", None, None)
    later(HOUR + 1)
    run_all(runtime)
    assert (row(sent).status, told(sent), row(sent).side_effect) == ("succeeded", {"ms": HOUR}, "not_applied")


def test_a_decision_wakes_a_script_that_sleeps_beside_it(caller, runtime, workspace, folder, approver, later):
    source = """
      const slept = sleep(3600000);
      await tools.call('file.write', {path: 'a', content: 'x'});
      text('written'); await slept; return 1
    """
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    assert (row(sent).status, row(sent).due_at is None) == ("queued", False)
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert ((folder / "a").read_text(), row(sent).status, row(sent).due_at is None) == ("x", "queued", False)
    later(HOUR + 1)
    run_all(runtime)
    assert (row(sent).status, row(sent).side_effect) == ("succeeded", "applied")


def test_a_cancel_ends_it_in_its_sleep(caller, runtime):
    sent = send(caller, source=SCRIPT)
    run_all(runtime)
    cancel(Cancel(execution_ref=sent.ref, actor="user:robo", reason="enough"))
    assert (row(sent).status, Call.objects.get().status, row(sent).due_at) == ("cancelled", "rejected", None)


def test_it_does_not_expire_in_its_sleep(caller, runtime, later):
    sent = send(caller, source=f"await sleep({6 * 24 * HOUR}); return 1")
    run_all(runtime)
    later(5 * 24 * HOUR)
    assert (expire_due(), row(sent).status) == (0, "queued")
    later(24 * HOUR + 1)
    run_all(runtime)
    assert row(sent).status == "succeeded"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (f"await sleep({7 * 24 * HOUR + 1})", "TOOL_INPUT_INVALID"),
        ("await tools.call('sleep', {ms: -1})", "TOOL_INPUT_INVALID"),
        ("await tools.call('sleep', {ms: 1.5})", "TOOL_INPUT_INVALID"),
        ("await tools.call('sleep', {})", "TOOL_INPUT_INVALID"),
    ],
)
def test_a_sleep_that_is_none(caller, runtime, source, code):
    sent = send(caller, source=f"try {{ {source} }} catch (e) {{ return e.code }}")
    run_all(runtime)
    assert (row(sent).status, told(sent)) == ("succeeded", code)


def test_policy_is_asked(caller, runtime, approver):
    save_rule(SaveRule(name="no", priority=1, capability="sleep", decision="DENY", author=approver))
    sent = send(caller, source="try { await sleep(5) } catch (e) { return e.code }")
    run_all(runtime)
    assert (row(sent).status, told(sent)) == ("succeeded", "POLICY_DENIED")


def test_a_worker_looks_when_the_next_one_is_due(caller, runtime, settings):
    settings.FORGE_SWEEP_SECONDS = 10
    assert seconds_to_due() == 10
    send(caller, source="await sleep(4000); return 1")
    run_all(runtime)
    assert 1 < seconds_to_due() <= 4
