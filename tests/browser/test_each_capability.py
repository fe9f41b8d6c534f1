"""Queue, decision, approval, result: for every capability that there is."""

import pytest

from approvals.models import Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Call, Execution
from executions.services import catalog
from tests.browser.test_approve import clean, log_in
from tests.db.executions import answer, run_all, send
from tests.people import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DIFF = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+second\n"
# By capability: its input, and what must stand on the decision page.
CASES = {
    "file.read": ({"path": "notes.txt"}, "notes.txt"),
    "file.list": ({"path": "."}, '"path": "."'),
    "file.searchText": ({"query": "two"}, "two"),
    "file.write": ({"path": "notes.txt", "content": "new\n"}, "+new"),
    "artifact.patch-proposal.materialize": ({"diff": DIFF}, "+second"),
    "patch.apply": (None, "+second"),
    "sleep": ({"ms": 0}, "Wait 0 ms"),
}


@pytest.fixture
def reviewed(caller, workspace, folder, approver):
    """Everything must be looked at."""
    (folder / "notes.txt").write_text("one\ntwo\n")
    save_rule(SaveRule(name="all", priority=1, capability="*", decision="REVIEW", author=approver))


def proposal(caller, runtime, approver):
    """The ref of a stored proposal, approved without a browser."""
    sent = send(caller, key="p", capability="artifact.patch-proposal.materialize", input={"diff": DIFF}, workspace="ws")
    run_all(runtime)
    answer(Approval.objects.get(execution_ref=sent.ref), approver)
    run_all(runtime)
    return Call.objects.get(execution=sent.ref).artifact_refs[0]


def test_none_is_left_out():
    assert {name for name in (one.name for one in catalog.registry().all()) if not name.startswith("tests.")} == set(
        CASES
    )


@pytest.mark.parametrize("browser", ["wide"], indirect=True)
@pytest.mark.parametrize("name", CASES)
def test_from_the_queue_to_the_result(browser, reviewed, name, caller, runtime, approver):
    given, said = CASES[name]
    given = given or {"artifact_ref": proposal(caller, runtime, approver)}
    sent = send(caller, capability=name, input=given, workspace="ws")
    run_all(runtime)
    person("bea", "approvers")
    log_in(browser, "bea")
    browser.follow(lambda page: page.get_by_role("link", name=name))
    browser(lambda page: page.locator("summary").first.click())
    shown = browser(lambda page: page.locator("#content").inner_text())
    assert said in shown
    assert "policy rule all, version 1" in shown.lower()
    browser.picture(f"capability-{name}")
    assert browser.axe() == []
    browser.follow(lambda page: page.get_by_role("button", name="Approve once"))
    browser(lambda page: page.get_by_text("You approved this for one use").wait_for())
    run_all(runtime)
    browser(lambda page: page.get_by_text("The call ended as succeeded").wait_for(timeout=15_000))
    assert Execution.objects.get(pk=sent.ref).status == "succeeded"
    assert Approval.objects.get(execution_ref=sent.ref).state == "consumed"
    clean(browser)
