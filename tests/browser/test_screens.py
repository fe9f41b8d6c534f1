"""The screens in a real browser: accessible, refused where due, and heard by the agent."""

import pytest

from approvals.models import Approval
from executions.models import Execution
from tests.browser.test_approve import clean, log_in
from tests.db.executions import answer, run_all, send
from tests.people import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SCRIPT = """const a = await tools.file.read({path: 'notes.txt'}); progress('read');
return tools.call('file.write', {path: 'notes.txt', content: a.content + 'more\\n'}, {purpose: 'Add \u202ea line'})"""


@pytest.fixture
def asked(caller, workspace, folder, runtime, settings):
    """A script's third step waits, after a denial of the same; beside it a plain request, and one that builds run."""
    settings.FORGE_LINGER_MS = 0
    (folder / "notes.txt").write_text("one\ntwo\n")
    send(caller, source=SCRIPT, workspace="ws", task_id="docs-7")
    write = {"path": "Makefile", "content": "all:\n\ttrue\n"}
    send(caller, key="k2", capability="file.write", input=write, workspace="ws", task_id="docs-8", purpose="Build it")
    run_all(runtime)
    return Approval.objects.get(target="notes.txt")


def go(browser, path):
    browser(lambda page: page.goto(f"{browser.url}{path}"))


def test_no_page_has_a_fault_axe_can_find(browser, asked, runtime):
    ann = person("ann", "approvers", "operators")
    log_in(browser, "ann")
    other = Approval.objects.get(target="Makefile")
    run = f"/admin/executions/execution/{asked.execution_ref}"
    pages = {
        "index": "/admin/", "queue": "/admin/approvals/approval/", "all": "/admin/approvals/approval/?state=all",
        "decision": f"/admin/approvals/approval/{asked.ref}/change/",
        "warned": f"/admin/approvals/approval/{other.ref}/change/", "executions": "/admin/executions/execution/",
        "execution": f"{run}/change/", "audit": f"{run}/audit/", "attention": "/admin/executions/execution/attention/",
    }  # fmt: skip

    def look(name):
        browser.picture(f"{name}-{browser.width}")
        assert (name, browser.axe()) == (name, [])
        assert (name, browser.faults, max(browser.overflow(), 0)) == (name, [], 0)

    for name, path in pages.items():
        go(browser, path)
        look(name)
    go(browser, pages["queue"])
    browser(lambda page: page.get_by_role("button", name="Choose all shown").click())
    browser.follow(lambda page: page.get_by_role("button", name="Deny chosen"))
    look("together-deny")
    answer(asked, ann)
    run_all(runtime)
    assert Execution.objects.get(pk=asked.execution_ref).status == "succeeded"
    for name in ("decision", "execution", "audit"):
        go(browser, pages[name])
        look(f"{name}-done")


@pytest.mark.parametrize("browser", ["wide"], indirect=True)
def test_a_denial_reaches_the_agent(browser, asked, runtime, caller):
    person("ann", "approvers")
    log_in(browser, "ann", f"/admin/approvals/approval/{asked.ref}/change/")
    browser(lambda page: page.get_by_label("Reason").fill("Not in this file: use CHANGES"))
    browser.follow(lambda page: page.get_by_role("button", name="Deny"))
    assert "You denied this" in browser(lambda page: page.get_by_role("status").first.inner_text())
    assert browser(lambda page: page.get_by_role("link", name="Next in the queue").count()) == 1
    run_all(runtime)
    row = Execution.objects.get(pk=asked.execution_ref)
    assert (row.status, row.calls.get(n=2).error_code) == ("failed", "APPROVAL_DENIED")
    assert "Not in this file: use CHANGES" in str([row.error_details, row.error_message])
    clean(browser)


@pytest.mark.parametrize("browser", ["wide"], indirect=True)
def test_a_stale_page_is_told_who_was_first(browser, asked):
    person("ann", "approvers")
    log_in(browser, "ann", f"/admin/approvals/approval/{asked.ref}/change/")
    answer(asked, person("bea", "approvers"), "deny", reason="too wide")
    with_status = []
    browser(lambda page: page.on("response", lambda got: with_status.append((got.request.method, got.status))))
    browser.follow(lambda page: page.get_by_role("button", name="Approve once"))
    told = browser(lambda page: page.get_by_role("alert").inner_text())
    assert ("POST", 409) in with_status
    assert "Denied by bea" in told
    assert "too wide" in told
    assert Approval.objects.get(pk=asked.pk).state == "denied"
    browser.picture("stale")
    assert browser.axe() == []


@pytest.mark.parametrize("browser", ["wide"], indirect=True)
def test_a_page_left_open_says_that_it_was_decided(browser, asked):
    person("ann", "approvers")
    log_in(browser, "ann", f"/admin/approvals/approval/{asked.ref}/change/")
    answer(asked, person("bea", "approvers"), "deny", reason="too wide")
    browser(lambda page: page.get_by_text("Decided by bea").wait_for(timeout=25_000))
    clean(browser)


@pytest.mark.parametrize("browser", ["wide"], indirect=True)
@pytest.mark.parametrize("role", ["auditors", "operators"])
def test_who_only_looks_has_nothing_to_press(browser, asked, role):
    person("aude", role)
    log_in(browser, "aude")
    assert browser(lambda page: page.locator("input[name=chosen]").count()) == 0
    browser.follow(lambda page: page.get_by_role("link", name="notes.txt"))
    assert "deciding needs the permission" in browser(lambda page: page.locator("#content").inner_text())
    for name in ("Approve once", "Deny"):
        assert browser(lambda page, name=name: page.get_by_role("button", name=name).count()) == 0
    assert browser.axe() == []
    clean(browser)
