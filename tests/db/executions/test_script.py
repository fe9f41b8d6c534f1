"""Scripts: calls, approvals in any order over new attempts, replay, endings."""

import pytest

from approvals.models import Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Call, Execution, Output, SessionValue
from executions.services.sealed import unseal
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def result(ref):
    done = Execution.objects.get(pk=ref)
    assert done.status == "succeeded", (done.status, done.error_code, done.error_message, done.error_details)
    return None if done.no_value else unseal(done.sealed_result)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("return 1 + 1", 2),
        ("return [input.a, typeof tools.call]", [5, "function"]),
        ("const f = await tools.call('file.read', {path: 'a.txt'}); return f.content", "hello"),
        ("return (await tools.call('file.list', {})).entries.map(e => e.path)", ["a.txt"]),
        ("try { await tools.call('no.such', {}) } catch (e) { return e.code }", "TOOL_NOT_FOUND"),
        ("try { await tools.call('file.read', {path: 1}) } catch (e) { return e.code }", "TOOL_INPUT_INVALID"),
        ("try { await tools.call('file.read', {path: '../x'}) } catch (e) { return e.code }", "TOOL_INPUT_INVALID"),
        ("try { await tools.call('file.read', {path: 'none'}) } catch (e) { return e.code }", "NOT_FOUND"),
        ("return (await Promise.all([1,2,3].map(() => tools.call('file.read', {path:'a.txt'})))).length", 3),
        ("return (await sleep(5)).ms", 5),
    ],
)
def test_scripts_that_need_nobody(caller, workspace, folder, runtime, source, value):
    (folder / "a.txt").write_text("hello")
    sent = send(caller, source=source, input={"a": 5}, workspace="ws")
    run_all(runtime)
    assert result(sent.ref) == value


@pytest.mark.parametrize(
    ("source", "code", "status"),
    [
        ("return (", "SCRIPT_SYNTAX", "failed"),
        ("throw new Error('boom')", "SCRIPT_RUNTIME", "failed"),
        ("await new Promise(() => {})", "UNRESOLVABLE_PROMISE", "failed"),
        ("return 10n", "RESULT_INVALID", "failed"),
        ("for(;;);", "CPU_LIMIT", "failed"),
        ("const a = []; for(;;) a.push(new Uint8Array(1e6))", "MEMORY_LIMIT", "failed"),
        ("text('y'.repeat(300000))", "OUTPUT_LIMIT", "failed"),
    ],
)
def test_scripts_that_end_badly(caller, runtime, source, code, status):
    sent = send(caller, source=source, limits={"cpu_ms": 200})
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.error_code) == (status, code)


def test_output_log_progress_and_state(caller, runtime):
    first = send(
        caller,
        source="text('one'); console.warn('careful'); progress('half', {completed: 1, total: 2});"
        "await tools.call('no.such', {}).catch(() => 0); text({two: 2}); state.set('k', [1]); state.set('gone', 1)",
        session_id="s1",
    )
    run_all(runtime)
    assert result(first.ref) is None
    done = Execution.objects.get(pk=first.ref)
    assert (done.no_value, done.progress) == (True, {"message": "half", "completed": 1, "total": 2})
    output = Output.objects.filter(execution=first, stream="output").order_by("offset")
    assert "".join(piece.text for piece in output) == 'one\n{"two":2}\n'
    assert [piece.offset for piece in output] == [0, 4]
    second = send(caller, "k2", source="state.delete('gone'); return state.get('k')", session_id="s1")
    other = send(caller, "k3", source="return state.get('k') ?? null", session_id="s2")
    run_all(runtime)
    assert (result(second.ref), result(other.ref)) == ([1], None)
    assert {row.key: row.sealed_value is None for row in SessionValue.objects.all()} == {"k": False, "gone": True}


def test_a_failed_script_leaves_no_state(caller, runtime):
    send(caller, source="state.set('k', 1); throw new Error('x')")
    run_all(runtime)
    assert not SessionValue.objects.exists()


WRITE_THREE = """
const done = await Promise.all(['a', 'b', 'c'].map(async (name, i) => {
  const purpose = 'because ' + name;
  const w = await tools.call('file.write', {path: name + '.txt', content: name + Date.now()}, {purpose});
  return [w.path, w.created];
}));
return {done, random: Math.random(), at: Date.now() > 0};
"""


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_three_approvals_in_any_order_over_new_attempts(caller, workspace, folder, runtime, approver, order):
    sent = send(caller, source=WRITE_THREE, workspace="ws")
    run_all(runtime)
    assert Execution.objects.get(pk=sent.ref).status == "waiting_approval"
    asked = list(Approval.objects.order_by("n"))
    assert [approval.purpose for approval in asked] == ["because a", "because b", "because c"]
    for at in order:
        assert Execution.objects.get(pk=sent.ref).status == "waiting_approval"
        answer(asked[at], approver)
        run_all(runtime)
    told = result(sent.ref)
    assert told["done"] == [["a.txt", True], ["b.txt", True], ["c.txt", True]]
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt", "c.txt"]
    assert Execution.objects.get(pk=sent.ref).attempt == 4
    assert Call.objects.filter(status="succeeded", side_effect="applied").count() == 3


def test_a_denied_call_rejects_and_the_script_goes_on(caller, workspace, folder, runtime, approver):
    source = (
        "try { await tools.call('file.write', {path: 'a', content: 'x'}) } "
        "catch (e) { return [e.code, e.details.reason, e.retryable] }"
    )
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    answer(Approval.objects.get(), approver, "deny", "too risky")
    run_all(runtime)
    assert result(sent.ref) == ["APPROVAL_DENIED", "too risky", False]
    assert list(folder.iterdir()) == []


def test_unawaited_calls_are_finished_or_cancelled_and_named(caller, workspace, folder, runtime, marker):
    source = "tools.call('tests.marker', {text: 'x'}); tools.call('file.write', {path: 'a', content: 'x'}); return 1"
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (result(sent.ref), done.unawaited) == (1, [1, 2])
    ends = dict(Call.objects.values_list("n", "status"))
    assert ends[2] == "rejected"
    assert ends[1] in ("succeeded", "rejected")
    assert marker.exists() == (ends[1] == "succeeded")
    assert set(Approval.objects.values_list("state", flat=True)) <= {"revoked"}


def test_a_script_does_not_replay_another_source(caller, workspace, runtime, approver, monkeypatch):
    """If what the guest says differs from its history, nothing is dispatched."""
    source = "const r = Math.random(); await tools.call('file.write', {path: 'a', content: 'x' + r})"
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    execution = Execution.objects.get(pk=sent.ref)
    from executions.services.sealed import seal

    start = unseal(execution.sealed_start) | {"seed": "another"}
    Execution.objects.filter(pk=sent.ref).update(sealed_start=seal(start))
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.error_code) == ("failed", "REPLAY_DIVERGED")
    assert done.error_details["what"] == "calls/0"
    assert Approval.objects.get().state == "revoked"


ASKS_AND_WRITES = """
const found = (await catalog.search('write a file', {limit: 3})).map((one) => one.name);
const one = await catalog.describe('file.write');
const none = await catalog.describe('no.such').catch((e) => e.code);
await tools.file.write({path: 'a', content: 'a', expected_hash: null});
return [found, one, none, await catalog.describe('file.list').catch((e) => e.code)]
"""


def test_the_catalog_is_replayed_as_it_was(caller, workspace, runtime, approver):
    sent = send(caller, source=ASKS_AND_WRITES, workspace="ws")
    run_all(runtime)
    (approval,) = Approval.objects.filter(execution_ref=sent.ref)
    save_rule(SaveRule(name="no-list", priority=1, capability="file.l*", decision="DENY", author=approver))
    answer(approval, approver)
    run_all(runtime)
    found, one, none, hidden = result(sent.ref)
    assert found[0] == "file.write"
    assert {"name", "summary", "effect", "input_schema"} == one.keys()
    assert (one["effect"], none, hidden) == ("write", "TOOL_NOT_FOUND", "TOOL_NOT_FOUND")
    done = Execution.objects.get(pk=sent.ref)
    assert (done.attempt, done.isolation) == (2, runtime.isolation)
    attempts = done.attempts.order_by("number")
    assert [(one.isolation, one.guest_pid is None) for one in attempts] == [(runtime.isolation, False)] * 2


def test_tools_the_caller_may_not_use_are_not_there(caller, workspace, runtime, approver):
    save_rule(SaveRule(name="no-write", priority=1, capability="file.w*", decision="DENY", author=approver))
    sent = send(
        caller,
        source="const {file, artifact} = tools;"
        "return [file.read, file.write, artifact.patchProposal.materialize].map((t) => typeof t)",
        workspace="ws",
    )
    run_all(runtime)
    assert result(sent.ref) == ["function", "undefined", "function"]
