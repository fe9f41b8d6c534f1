"""`approvals`: a person at a terminal decides by their own password, under the rules of the screens."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User

from approvals import questions, selectors
from approvals.models import Approval
from approvals.services import Answer
from approvals.services import answer as reply
from forge_project.ledger import selectors as ledger
from tests.db.approvals import asked_about
from tests.db.commands import run
from tests.db.executions import run_all, send
from tests.people import PASSWORD, person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def says(monkeypatch):
    """What the person types, line by line, after the password."""

    def typed(*lines, password=PASSWORD):
        monkeypatch.setattr("sys.stdin", StringIO("".join(f"{line}\n" for line in (password, *lines))))

    return typed


@pytest.fixture
def asked(caller, workspace, folder, runtime, approver):
    (folder / "notes.txt").write_text("old\n")
    sent = {"path": "notes.txt", "content": "new\n"}
    send(caller, capability="file.write", input=sent, workspace="ws", purpose="tidy \x1b[2J up", task_id="docs-7")
    run_all(runtime)
    return Approval.objects.get()


def state(asked):
    return Approval.objects.values_list("state", "version").get(pk=asked.pk)


def facts(asked):
    told = [ledger.payload(event)["actions"].get("forge", {}) for event in ledger.events(asked.invocation_id)]
    return [said for said in told if said.get("fact") == "approval.decided"]


def test_list_is_what_waits_for_that_person(says, asked):
    says()
    code, said = run("approvals", "list", "--user", "ann")
    assert (code, said.count("\n")) == (0, 1)
    for part in (asked.ref, "medium", "file.write notes.txt", "by robo for docs-7"):
        assert part in said
    owen = User.objects.get(username="owen")
    owen.set_password(PASSWORD)
    owen.is_staff = True
    owen.save()
    says()
    assert run("approvals", "list", "--user", "owen") == (0, "nothing waits for you\n")
    says()
    assert json.loads(run("approvals", "list", "--user", "ann", "--json")[1])[0]["approval_ref"] == asked.ref


def test_show_has_the_whole_change_and_the_warnings(says, asked, folder):
    (folder / "notes.txt").write_text("meanwhile\n")
    says()
    code, said = run("approvals", "show", asked.ref, "--user", "ann")
    assert code == 0
    for part in ("WARNING  The world has changed", "WARNING  The agent's own words: hidden characters", "  | -old\n",
                 "  | +new\n", "  > tidy \\u{001B}[2J up", "HAS CHANGED", asked.fingerprint, "can be undone",
                 "rule default version 1"):  # fmt: skip
        assert part in said
    assert "\x1b" not in said


def test_what_the_agent_was_asked_is_shown_and_voted_on(says, asked, approver):
    asked_about(asked, approver, "Why?\nTell me")
    reply(Answer(approval_ref=asked.ref, actor=asked.caller, n=1, text="Tidy \x1b[2J\nApproved by ann"))
    says()
    _, said = run("approvals", "show", asked.ref, "--user", "ann")
    for part in ("ann asked the agent: Why?\\u{000A}Tell me\n", "  > Tidy \\u{001B}[2J\n  > Approved by ann\n",
                 "WARNING  The agent's answer to question 1: hidden characters"):  # fmt: skip
        assert part in said
    says("yes")
    assert run("approvals", "approve", asked.ref, "--user", "ann")[0] == 0
    assert (state(asked), facts(asked)[-1]["shown"]) == (("approved", 2), questions.shown(selectors.get(asked.ref)))


def test_approve_asks_and_is_carried_out(says, asked, folder, runtime):
    says("no")
    assert run("approvals", "approve", asked.ref, "--user", "ann") == (1, "nothing was changed")
    assert state(asked) == ("pending", 1)
    says("yes")
    code, said = run("approvals", "approve", asked.ref, "--user", "ann", "--reason", "fine")
    assert (code, state(asked)) == (0, ("approved", 2))
    assert said.endswith(f"{asked.ref} is approved\n")
    assert (facts(asked)[0]["method"], facts(asked)[0]["actor"]) == ("password", "user:ann")
    run_all(runtime)
    assert (folder / "notes.txt").read_text() == "new\n"


def test_deny_needs_a_reason_and_the_agent_hears_it(says, asked, caller, runtime):
    says("")
    code, said = run("approvals", "deny", asked.ref, "--user", "ann")
    assert (code, state(asked)) == (2, ("pending", 1))
    assert "say why" in said
    says("not today")
    assert run("approvals", "deny", asked.ref, "--user", "ann")[0] == 0
    run_all(runtime)
    assert caller.executions.get().error_details["reason"] == "not today"


def test_an_approval_is_taken_back(says, asked, runtime, folder):
    says("yes")
    run("approvals", "approve", asked.ref, "--user", "ann")
    says("changed my mind")
    code, said = run("approvals", "revoke", asked.ref, "--user", "ann")
    assert (code, said, state(asked)) == (0, f"{asked.ref} is revoked\n", ("revoked", 3))
    run_all(runtime)
    assert (folder / "notes.txt").read_text() == "old\n"


def test_who_gives_no_password_does_nothing(says, asked, caller):
    caller.set_password(PASSWORD)
    caller.save()
    for name, password in (("ann", "another long password"), ("ann", ""), ("nobody", PASSWORD), ("robo", PASSWORD)):
        for verb in ("list", "approve", "deny", "revoke", "show"):
            says("yes", password=password)
            args = [] if verb == "list" else [asked.ref]
            assert run("approvals", verb, *args, "--user", name) == (2, "this is not that person's password")
    assert state(asked) == ("pending", 1)


def test_the_screens_rules_hold_here(says, asked):
    person("olga", "operators")
    says("yes")
    code, said = run("approvals", "approve", asked.ref, "--user", "olga")
    assert code == 2
    assert "permission to decide" in said
    owen = User.objects.get(username="owen")
    owen.set_password(PASSWORD)
    owen.groups.set(User.objects.get(username="ann").groups.all())
    owen.save()
    says("yes")
    assert run("approvals", "approve", asked.ref, "--user", "owen") == (2, "nobody decides their own requests")
    assert state(asked) == ("pending", 1)
    for ref in ("appr_0", "\0"):
        says("yes")
        assert run("approvals", "approve", ref, "--user", "ann") == (2, "no such approval")


def test_one_decided_meanwhile_says_by_whom(says, asked, monkeypatch):
    from executions.management.commands import approvals
    from tests.db.executions import answer

    real = approvals.Command._ask

    def slow(self, prompt):
        if "Approve" in prompt:
            answer(asked, person("bea", "approvers"), "deny", reason="too wide")
        return real(self, prompt)

    monkeypatch.setattr(approvals.Command, "_ask", slow)
    says("yes")
    code, said = run("approvals", "approve", asked.ref, "--user", "ann")
    assert (code, state(asked)) == (1, ("denied", 2))
    for part in ("denied", "bea", "too wide"):
        assert part in said


def test_critical_risk_is_typed(says, asked):
    from tests.db.approvals import pending

    row = pending(asked.caller, "exec-2", risk="critical", target="prod\u202edb")
    says("yes")
    assert run("approvals", "approve", row.ref, "--user", "ann")[0] == 2
    assert state(row) == ("pending", 1)
    says("prod\\u{202E}db")
    assert run("approvals", "approve", row.ref, "--user", "ann")[0] == 0
    assert state(row) == ("approved", 2)
