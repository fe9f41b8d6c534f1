"""Public bug reports about approvals: each row has its test, here or where ROWS says."""

import ast
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client

from approvals.models import Approval
from approvals.services import expire_due
from executions.models import Call, Execution
from executions.services.reconcile import reconcile
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import Conflict
from forge_project.ledger import selectors
from tests import environment
from tests.db.approvals import at_once
from tests.db.executions import answer, run_all, run_one, send
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)
TESTS = Path(__file__).parents[2]
ROWS = {
    "C128": "db/executions/test_approval_cases.py::test_two_answers_at_once_make_one_effect",
    "C129": "db/approvals/test_races.py::test_two_people_decide",
    "C130": "db/executions/test_approval_cases.py::test_a_crash_after_the_use_leaves_nothing_to_use_again",
    "C132": "db/executions/test_approval_cases.py::test_time_is_never_a_yes",
    "C133": "db/executions/test_approval_cases.py::test_time_is_never_a_yes",
    "C134": "unit/approvals/test_reviewers.py::test_a_bad_answer_passes_the_question_on",
    "C136": "db/executions/test_bound_to.py::test_each_change_is_refused",
    "C137": "db/executions/test_approval_cases.py::test_no_look_changes_anything",
    "C138": "db/admin/test_page.py",
    "C139": "db/admin/test_page.py",
    "C142": "unit/approvals/test_reviewers.py::test_no_text_talks_its_way_past_a_person",
    "C144": "db/approvals/test_policy.py::test_a_deny_without_words_denies",
    "C145": "db/executions/test_binding.py::test_an_approval_is_used_once",
    "C146": "db/executions/test_binding.py::test_a_changed_file_is_asked_again",
    "C185": "db/executions/test_approval_cases.py::test_a_clock_that_steps",
}


def test_every_row_has_its_test():
    for place in ROWS.values():
        file, _, name = place.partition("::")
        tree = ast.parse((TESTS / file).read_text())
        assert not name or name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, place


@pytest.fixture
def asked(caller, workspace, folder, runtime, settings):
    """A file.write of `a` that waits for a person."""
    settings.FORGE_LINGER_MS = 0
    sent = send(caller, capability="file.write", input={"path": "a", "content": "new"}, workspace="ws")
    run_all(runtime)
    return sent


def kinds(sent):
    return [event.kind for event in selectors.events(sent.ref)]


def end(sent):
    done = Execution.objects.get(pk=sent.ref)
    return done.status, done.error_code


def test_two_answers_at_once_make_one_effect(caller, workspace, folder, runtime, approver, settings):
    settings.FORGE_LINGER_MS = 0
    bob = person("bob", "approvers")
    for n in range(environment.ROUNDS or 20):
        sent = send(caller, f"k{n}", capability="file.write", input={"path": f"f{n}", "content": "x"}, workspace="ws")
        run_all(runtime)
        row = Approval.objects.get(execution_ref=sent.ref)
        ended = at_once(*[lambda who=who, r=row: answer(r, who) for who in (approver, bob, approver)])
        assert [isinstance(one, Conflict) for one in ended].count(True) == 2, ended
        run_all(runtime)
        assert end(sent) == ("succeeded", "")
        assert [kinds(sent).count(kind) for kind in ("approval.consumed", "tool_dispatch")] == [1, 1]


def test_a_crash_after_the_use_leaves_nothing_to_use_again(asked, folder, approver, runtime):
    answer(Approval.objects.get(), approver)
    with failpoints.crash_at("t1.after"):
        run_one(runtime)
    assert (Approval.objects.get().state, Call.objects.get().status) == ("consumed", "prepared")
    reconcile(runtime)
    run_all(runtime)
    assert (end(asked), (folder / "a").exists()) == (("failed", "INTERRUPTED"), False)
    with pytest.raises(Conflict):
        answer(Approval.objects.get(), approver)
    assert kinds(asked).count("tool_dispatch") == 1


def test_time_is_never_a_yes(asked, folder, runtime, monkeypatch):
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(hours=25))
    assert expire_due() == 1
    run_all(runtime)
    assert ((folder / "a").exists(), Approval.objects.get().state) == (False, "expired")
    assert end(asked)[0] in ("failed", "timed_out")
    assert ("approval.expired" in kinds(asked), "approval.decided" in kinds(asked)) == (True, False)


@pytest.mark.parametrize("hours", [-10 / 60, 24])
def test_a_clock_that_steps(asked, folder, runtime, approver, monkeypatch, hours):
    """Back, the yes still ends; a day forward, it is over at once."""
    answer(Approval.objects.get(), approver)
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(hours=hours))
    run_all(runtime)
    assert (folder / "a").exists() == (hours < 0)
    late = timedelta(seconds=900 + 600)
    assert Approval.objects.get().expires_at - real() <= late


def test_no_look_changes_anything(asked, approver, caller):
    """Every address by GET, HEAD and OPTIONS, as everybody: a link in a mail is followed by scanners."""
    row = Approval.objects.get()
    admin, api = f"/admin/approvals/approval/{row.ref}", f"/api/v1/approvals/{row.ref}"
    grant = "/api/v1/grants/grant_" + "0" * 32
    urls = [f"{admin}/change/", f"{admin}/decide/", f"{admin}/decide/?decision=approve", f"{admin}/history/",
            f"{admin}/delete/", "/admin/approvals/grant/", "/admin/approvals/policyrule/test/",
            f"{api}/", f"{api}/decide/", f"{api}/revoke/", f"{api}/grant/", f"{grant}/", f"{grant}/vote/",
            f"{grant}/revoke/"]  # fmt: skip
    events = len(kinds(asked))
    for user in (approver, caller, None):
        client = Client(enforce_csrf_checks=True)
        if user is not None:
            client.force_login(user)
        for url in urls:
            for method in ("get", "head", "options"):
                assert getattr(client, method)(url).status_code < 500
            if url.startswith(("/admin/approvals/approval", "/api")):
                assert client.post(url, {"decision": "approve", "version": 1}).status_code in (
                    302,
                    401,
                    403,
                    404,
                    405,
                    415,
                )
    row.refresh_from_db()
    assert (row.state, row.version, len(kinds(asked))) == ("pending", 1, events)
