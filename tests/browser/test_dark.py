"""The screens in the dark, by the switch in the admin's head and by what the system prefers: axe finds no fault."""

import pytest

from approvals import questions, selectors
from approvals.models import Approval
from approvals.services import Answer, Revoke, revoke
from approvals.services import answer as reply
from tests.browser.test_approve import log_in
from tests.browser.test_screens import asked, go  # noqa: F401  # a fixture
from tests.db.approvals import answer, asked_about
from tests.db.executions import run_all
from tests.people import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LIGHT = 128  # a ground at least this bright is no dark one


def darken(browser, how):
    """`system`: what prefers-color-scheme says; `switch`: Django's own theme toggle, which is kept for later pages."""
    if how == "system":
        browser(lambda page: page.emulate_media(color_scheme="dark"))
        return
    toggle = ".theme-toggle:visible"
    browser(lambda page: page.locator(toggle).first.click())  # auto to light, or to dark
    for _ in range(2):
        if browser(lambda page: page.evaluate("document.documentElement.dataset.theme")) == "dark":
            return
        browser(lambda page: page.locator(toggle).first.click())
    raise AssertionError("the theme switch has no dark")


def brightness(browser):
    """Of the page's ground: 0 is black, 255 is white."""
    channels = browser(lambda page: page.evaluate("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g)"))
    return max(map(int, channels[:3]))


@pytest.mark.parametrize("how", ["system", "switch"])
def test_no_dark_page_has_a_fault_axe_can_find(browser, asked, runtime, how):  # noqa: F811
    ann = person("ann", "approvers", "operators")
    log_in(browser, "ann")
    darken(browser, how)
    other = Approval.objects.get(target="Makefile")
    asked_about(asked, ann, "Which issue asks for this?")
    asked_about(asked, ann, "And by when?")
    reply(Answer(approval_ref=asked.ref, actor=asked.caller, n=1, text="Issue \u202e7"))
    run = f"/admin/executions/execution/{asked.execution_ref}"
    pages = {
        "index": "/admin/", "queue": "/admin/approvals/approval/", "all": "/admin/approvals/approval/?state=all",
        "decision": f"/admin/approvals/approval/{asked.ref}/change/",
        "warned": f"/admin/approvals/approval/{other.ref}/change/", "executions": "/admin/executions/execution/",
        "execution": f"{run}/change/", "audit": f"{run}/audit/", "attention": "/admin/executions/execution/attention/",
        "rules": "/admin/approvals/policyrule/", "grants": "/admin/approvals/grant/",
    }  # fmt: skip

    def look(name):
        browser.picture(f"dark-{how}-{name}-{browser.width}")
        assert (name, browser.axe()) == (name, [])
        assert (name, brightness(browser) < LIGHT) == (name, True)
        assert (name, browser.faults, max(browser.overflow(), 0)) == (name, [], 0)

    for name, path in pages.items():
        go(browser, path)
        if name == "decision":
            for fold in ("Approve this and similar", "Ask the agent", "Take the request back"):
                browser(lambda page, fold=fold: page.locator("summary", has_text=fold).click())
        look(name)
    go(browser, pages["decision"])
    browser.follow(lambda page: page.get_by_role("button", name="Deny"))  # without a reason
    browser.faults = [fault for fault in browser.faults if "400 (Bad Request)" not in fault]
    look("refused")
    go(browser, pages["queue"])
    browser(lambda page: page.get_by_role("button", name="Choose all shown").click())
    browser.follow(lambda page: page.get_by_role("button", name="Deny chosen"))
    look("together")
    revoke(Revoke(approval_ref=other.ref, actor=ann, reason="no"))
    reply(Answer(approval_ref=asked.ref, actor=asked.caller, n=2, text="Today"))
    answer(asked, ann, shown=questions.shown(selectors.get(asked.ref)))
    for name in ("decision", "warned"):
        go(browser, pages[name])
        look(f"{name}-decided")
    run_all(runtime)
    for name in ("decision", "execution", "audit"):
        go(browser, pages[name])
        look(f"{name}-done")
