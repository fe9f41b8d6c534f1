"""The queue in a real browser: it keeps itself fresh, keeps what was chosen, and answers several at once."""

import pytest

from approvals.models import Approval
from tests.browser.test_approve import clean, log_in
from tests.db.executions import run_all, send
from tests.people import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def ask(caller, runtime, name, **changes):
    sent = {"path": f"{name}.txt", "content": "new\n"}
    send(caller, key=name, capability="file.write", input=sent, workspace="ws", task_id="docs-7", **changes)
    run_all(runtime)
    return Approval.objects.get(target=f"{name}.txt")


@pytest.fixture
def two(caller, workspace, folder, runtime):
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text("old\n")
    return [ask(caller, runtime, name) for name in ("one", "two")]


def test_it_refreshes_itself_and_keeps_what_was_chosen(browser, two, caller, runtime, folder):
    person("ann", "approvers")
    log_in(browser, "ann")
    box = f"input[value={two[0].ref}]"
    browser(lambda page: page.locator(box).check())
    assert browser(lambda page: page.locator("#forge-chosen").inner_text()) == "1 chosen"
    (folder / "three.txt").write_text("old\n")
    ask(caller, runtime, "three")
    browser(lambda page: page.get_by_role("link", name="three.txt").wait_for(timeout=15_000))
    assert browser(lambda page: page.locator(box).is_checked())
    assert browser(lambda page: page.evaluate("document.activeElement.value")) == two[0].ref
    assert "Waiting for me (3)" in browser(lambda page: page.locator("#changelist-filter").inner_text())
    browser.picture(f"queue-chosen-{browser.width}")
    clean(browser)
    ended = Approval.objects.filter(pk=two[0].pk)
    from tests.db.executions import answer

    answer(ended.get(), person("bea", "approvers"))
    browser(lambda page: page.get_by_text("1 chosen request waits no more").wait_for(timeout=15_000))
    assert browser(lambda page: page.locator(box).count()) == 0
    clean(browser)


def test_several_are_approved_and_carried_out(browser, two, runtime, folder):
    person("ann", "approvers")
    log_in(browser, "ann")
    browser(lambda page: page.get_by_role("button", name="Choose all shown").click())
    browser.follow(lambda page: page.get_by_role("button", name="Approve chosen"))
    shown = browser(lambda page: page.locator("#content").inner_text())
    assert "one.txt" in shown
    assert shown.count("+new") == 2
    browser.picture(f"together-{browser.width}")
    clean(browser)
    browser.follow(lambda page: page.get_by_role("button", name="Approve each of 2 once"))
    assert browser(lambda page: page.locator(".forge-results .forge-yes").all_inner_texts()) == ["approved"] * 2
    browser.picture(f"together-done-{browser.width}")
    clean(browser)
    run_all(runtime)
    assert [(folder / f"{name}.txt").read_text() for name in ("one", "two")] == ["new\n"] * 2
