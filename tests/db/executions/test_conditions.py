"""Rules with conditions, judged when a call is asked for and again at its boundary."""

import pytest
from django.db import connection

from approvals import conditions
from approvals.models import Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Call, Execution
from forge_project.ledger import selectors
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = """
const write = (path) => tools.file.write({path, content: "x"}).then(() => "done", (error) => error.code);
return await Promise.all([write("docs/a"), write("secrets/a")]);
"""


@pytest.fixture
def rule(approver):
    def save(decision, condition, name="rule", **says):
        given = {"capability": "file.*", "priority": 1} | says
        return save_rule(SaveRule(name=name, decision=decision, condition=condition, author=approver, **given))

    return save


def end(execution):
    done = Execution.objects.get(pk=execution.ref)
    return done.status, done.error_code


def write(caller, path, key="k1"):
    sent = {"path": path, "content": "x", "create_parents": True}
    return send(caller, key, capability="file.write", input=sent, workspace="ws")


def test_a_condition_tells_two_calls_of_one_script_apart(caller, workspace, folder, runtime, rule):
    for place in ("docs", "secrets"):
        (folder / place).mkdir()
    rule("ALLOW", 'target.path.startsWith("docs/")')
    rule("DENY", 'target.path.startsWith("secrets/")', "no", reason="not there")
    sent = send(caller, source=SCRIPT, workspace="ws")
    run_all(runtime)
    assert end(sent) == ("succeeded", "")
    assert [(call.status, call.error_code) for call in Call.objects.order_by("n")] == [
        ("succeeded", ""),
        ("rejected", "POLICY_DENIED"),
    ]
    assert ((folder / "docs/a").exists(), (folder / "secrets/a").exists()) == (True, False)


@pytest.mark.parametrize("given", ["[1]", "null", '"a"', "{path: [1]}", "{path: {}}"])
def test_an_input_of_another_form_is_refused_as_ever(caller, workspace, folder, runtime, rule, given):
    """A capability is asked where a call goes before its input is checked."""
    rule("ALLOW", 'target.path == "a"')
    sent = send(caller, source=f"return tools.call('file.read', {given}).catch((e) => e.code)", workspace="ws")
    run_all(runtime)
    assert (end(sent), Execution.objects.get().shown_result) == (("succeeded", ""), '"TOOL_INPUT_INVALID"')


def test_the_decision_keeps_the_rule_as_it_was(caller, workspace, folder, runtime, rule):
    rule("ALLOW", 'target.path == "a"')
    sent = write(caller, "a")
    run_all(runtime)
    rule("DENY", 'target.path == "a"')
    said = [selectors.payload(event)["actions"]["forge"] for event in selectors.events(sent.ref)
            if event.kind == "policy.decided"]  # fmt: skip
    assert [(one["rule"], one["rule_version"], one["snapshot"]["condition"]) for one in said] == [
        ("rule", 1, 'target.path == "a"')
    ]


def test_a_failing_condition_never_lets_pass(caller, workspace, folder, runtime, rule):
    rule("ALLOW", "input.expected_hash == null")
    sent = write(caller, "a")
    run_all(runtime)
    assert end(sent)[0] == "waiting_approval"
    assert not (folder / "a").exists()


@pytest.mark.parametrize(("condition", "then"), [('target.path == "a"', "POLICY_DENIED"), ('target.path == "b"', "")])
def test_a_condition_that_came_after_the_approval_counts(
    caller, workspace, folder, runtime, approver, rule, condition, then
):
    sent = write(caller, "a")
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    rule("DENY", condition)
    run_all(runtime)
    assert end(sent) == (("failed", then) if then else ("succeeded", ""))
    assert (folder / "a").exists() == (not then)


def test_no_condition_is_evaluated_inside_a_transaction(
    caller, workspace, folder, runtime, approver, rule, monkeypatch
):
    real, asked = conditions.holds, []

    def holds(text, variables):
        asked.append(connection.in_atomic_block)
        return real(text, variables)

    monkeypatch.setattr(conditions, "holds", holds)
    rule("REVIEW", 'target.path == "a"')
    write(caller, "a")
    run_all(runtime)
    rule("ALLOW", 'target.path == "a" && true', "late", priority=0)  # unknown to this process when T1 comes
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert (folder / "a").exists()
    assert len(asked) >= 3
    assert not any(asked)


def test_a_patch_is_judged_by_the_files_it_changes(caller, workspace, folder, runtime, rule):
    (folder / "secrets").mkdir()
    rule("DENY", 'target.paths.exists(p, p.startsWith("secrets/"))', capability="patch.apply")
    rule("ALLOW", 'target.paths.all(p, p == "a" || p == "secrets/b")', "rest", priority=2, capability="patch.apply")
    source = """
    const {artifact_ref} = await tools.call("artifact.patch-proposal.materialize", {diff: input});
    return await tools.patch.apply({artifact_ref}).then(() => "done", (error) => error.code);
    """

    def new(path):
        return f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n"

    for n, (diff, made) in enumerate([(new("a"), True), (new("a2") + new("secrets/b"), False)]):
        sent = send(caller, f"k{n}", source=source, input=diff, workspace="ws")
        run_all(runtime)
        assert end(sent) == ("succeeded", "")
        assert (folder / ("a" if made else "secrets/b")).exists() == made
    assert [call.error_code for call in Call.objects.filter(tool="patch.apply").order_by("pk")] == ["", "POLICY_DENIED"]
