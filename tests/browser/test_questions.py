"""An approver asks the agent, reads what it answers on the page left open, and takes back: in a real browser."""

import pytest

from approvals.models import Approval, Question
from approvals.services import Answer
from approvals.services import answer as reply
from tests.browser.test_approve import clean, log_in
from tests.db.approvals import asked_about
from tests.db.executions import answer, run_all, send
from tests.people import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def asked(caller, workspace, folder, runtime):
    (folder / "notes.txt").write_text("old\n")
    sent = {"path": "notes.txt", "content": "new\n"}
    send(caller, capability="file.write", input=sent, workspace="ws", purpose="Tidy up")
    run_all(runtime)
    return Approval.objects.get()


def open_fold(browser, name):
    browser(lambda page: page.locator("summary", has_text=name).click())


def replied(asked, text, n=1):
    return reply(Answer(approval_ref=asked.ref, actor=asked.caller, n=n, text=text))


def look(browser, name):
    browser.picture(f"{name}-{browser.width}")
    browser.picture(f"{name}-bar-{browser.width}", whole=False)
    assert (name, browser.axe()) == (name, [])
    clean(browser)


def test_asked_answered_read_and_approved(browser, asked, runtime, folder):
    person("ann", "approvers")
    log_in(browser, "ann", f"/admin/approvals/approval/{asked.ref}/change/")
    open_fold(browser, "Ask the agent")
    browser(lambda page: page.get_by_label("Your question").fill("Which issue\nasks for this?"))
    look(browser, "ask")
    browser.follow(lambda page: page.get_by_role("button", name="Ask", exact=True))
    shown = browser(lambda page: page.locator("#forge-asked").inner_text())
    assert "ann asked the agent" in shown
    assert "No answer yet." in shown
    look(browser, "ask-waiting")
    browser(lambda page: page.get_by_label("Reason").fill("half a reason"))

    replied(asked, "Issue 7, \u202ehonest\u202c. <b>Trust me</b>")  # while the page is open
    browser(
        lambda page: page.get_by_text("The agent was asked 1 question and has answered 1.").wait_for(timeout=15_000)
    )
    assert browser(lambda page: page.locator("#forge-asked blockquote").inner_text()) == (
        "Issue 7, \\u{202E}honest\\u{202C}. <b>Trust me</b>"
    )
    assert "answer to question 1: hidden characters" in browser(lambda page: page.locator("#forge-warned").inner_text())
    assert browser(lambda page: page.get_by_label("Reason").input_value()) == "half a reason"
    assert browser(lambda page: page.evaluate("document.activeElement.id")) == "reason"
    look(browser, "ask-answered")

    browser.follow(lambda page: page.get_by_role("button", name="Approve once"))
    assert "You approved this for one use" in browser(lambda page: page.get_by_role("status").first.inner_text())
    assert "Issue 7" in browser(lambda page: page.locator("#forge-asked").inner_text())
    run_all(runtime)
    assert (folder / "notes.txt").read_text() == "new\n"
    clean(browser)


@pytest.mark.parametrize("browser", ["wide"], indirect=True)
def test_an_answer_that_was_not_on_the_page_is_not_voted_on(browser, asked):
    person("ann", "approvers")
    log_in(browser, "ann", f"/admin/approvals/approval/{asked.ref}/change/")
    open_fold(browser, "Ask the agent")
    browser(lambda page: page.get_by_label("Your question").fill("Why?"))
    browser.follow(lambda page: page.get_by_role("button", name="Ask", exact=True))
    browser(lambda page: page.evaluate("() => { window.fetch = () => new Promise(() => {}); }"))  # no refresh comes
    replied(asked, "Because.")
    browser.follow(lambda page: page.get_by_role("button", name="Approve once"))
    assert "is not what you were shown" in browser(lambda page: page.get_by_role("alert").inner_text())
    assert "Because." in browser(lambda page: page.locator("#forge-asked").inner_text())
    assert Approval.objects.get().state == "pending"
    browser.faults = [fault for fault in browser.faults if "409 (Conflict)" not in fault]
    asked_about(asked, person("cleo", "approvers"), "Are you sure?")  # the refused page is kept fresh as well
    replied(asked, "I am.", n=2)
    browser(lambda page: page.get_by_text("was asked 2 questions and has answered 2.").wait_for(timeout=30_000))
    clean(browser)
    browser.follow(lambda page: page.get_by_role("button", name="Approve once"))
    assert Approval.objects.get().state == "approved"


@pytest.mark.parametrize("browser", ["wide"], indirect=True)
def test_by_keyboard_and_refused_where_it_is_blank(browser, asked):
    person("ann", "approvers")
    log_in(browser, "ann", f"/admin/approvals/approval/{asked.ref}/change/")
    browser(lambda page: page.locator("summary", has_text="Ask the agent").focus())
    browser(lambda page: page.keyboard.press("Enter"))
    browser(lambda page: page.keyboard.press("Tab"))
    browser(lambda page: page.keyboard.type("   "))
    browser(lambda page: page.keyboard.press("Tab"))

    def send_it(page):
        with page.expect_navigation():
            page.keyboard.press("Enter")

    browser(send_it)
    assert "A question is not blank" in browser(lambda page: page.get_by_role("alert").inner_text())
    assert browser(lambda page: page.get_by_label("Your question").get_attribute("aria-invalid")) == "true"
    assert not Question.objects.exists()
    assert browser.axe() == []


@pytest.mark.parametrize("approved", [False, True])
def test_taken_back_before_it_was_used(browser, asked, runtime, folder, approved):
    person("ann", "approvers")
    if approved:
        answer(asked, person("bea", "approvers"))
    log_in(browser, "ann", f"/admin/approvals/approval/{asked.ref}/change/")
    open_fold(browser, "Revoke this approval" if approved else "Take the request back")
    browser(lambda page: page.get_by_label("Why is it taken back").fill("second thoughts"))
    look(browser, f"revoke-{'approved' if approved else 'pending'}")
    browser.follow(lambda page: page.get_by_role("button", name="Revoke", exact=True))
    assert "It is taken back" in browser(lambda page: page.get_by_role("status").first.inner_text())
    assert "second thoughts" in browser(lambda page: page.locator(".forge-outcome").inner_text())
    look(browser, "revoked")
    run_all(runtime)
    assert (folder / "notes.txt").read_text() == "old\n"
