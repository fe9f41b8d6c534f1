"""A person approves in a real browser, by mouse, by keyboard and on a phone."""

import pytest

from approvals.models import Approval
from executions.models import Execution
from tests.db.executions import run_all, send
from tests.people import PASSWORD, person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BEFORE = "".join(f"line {n}\n" for n in range(1, 30))
AFTER = BEFORE.replace(
    "line 7\n", "line seven, now much longer than any telephone is wide, so that its box must scroll\n"
)


@pytest.fixture
def asked(caller, workspace, folder, runtime):
    (folder / "notes.txt").write_text(BEFORE)
    sent = {"path": "notes.txt", "content": AFTER + "one more\u202e\n"}
    send(caller, capability="file.write", input=sent, workspace="ws", purpose="Trust me, this is \u202eharmless")
    send(caller, key="k2", capability="file.write", input={"path": "Makefile", "content": "all:\n"}, workspace="ws")
    run_all(runtime)
    return Approval.objects.order_by("requested_at").first()


def log_in(browser, name, path="/admin/approvals/approval/"):
    def steps(page):
        page.goto(f"{browser.url}{path}")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{browser.url}{path}")

    browser(steps)


def clean(browser):
    assert browser.faults == []
    assert browser.overflow() <= 0


def test_from_the_queue_to_the_written_file(browser, asked, folder, runtime):
    person("ann", "approvers")
    log_in(browser, "ann")
    browser.picture(f"queue-{browser.width}")
    clean(browser)
    browser.follow(lambda page: page.get_by_role("link", name="notes.txt"))
    browser(lambda page: page.get_by_role("button", name="Approve once").wait_for())
    browser.picture(f"decision-{browser.width}", whole=False)
    browser.picture(f"decision-whole-{browser.width}")
    clean(browser)
    assert "\\u{202E}harmless" in browser(lambda page: page.locator(".forge-agent blockquote").inner_text())
    assert browser(lambda page: page.locator(".forge-add").all_inner_texts())[0].startswith("+line seven")

    browser.follow(lambda page: page.get_by_role("button", name="Deny"))  # without a reason
    assert "Say why" in browser(lambda page: page.get_by_role("alert").inner_text())
    browser.picture(f"refused-{browser.width}")
    assert browser.overflow() <= 0
    browser.faults = [fault for fault in browser.faults if "400 (Bad Request)" not in fault]

    browser.follow(lambda page: page.get_by_role("button", name="Approve once"))
    said = browser(lambda page: page.get_by_role("status").first.inner_text())
    assert "You approved this for one use" in said
    browser.picture(f"approved-{browser.width}")
    clean(browser)
    assert (folder / "notes.txt").read_text() == BEFORE
    run_all(runtime)
    assert (folder / "notes.txt").read_text() == AFTER + "one more\u202e\n"

    browser.follow(lambda page: page.get_by_role("link", name="Next in the queue"))
    assert "Makefile is run by builds" in browser(lambda page: page.locator(".forge-warnings").inner_text())
    clean(browser)
    browser(lambda page: page.go_back())
    browser(lambda page: page.reload())
    assert "Approved, and used" in browser(lambda page: page.locator(".forge-outcome").inner_text())
    browser.follow(lambda page: page.get_by_role("link", name=asked.execution_ref))
    assert "✓ verified" in browser(lambda page: page.locator("section:has(#events)").inner_text())
    browser.picture(f"execution-{browser.width}")
    clean(browser)


def test_by_keyboard_alone(browser, asked):
    person("ann", "approvers")
    log_in(browser, "ann")

    def tab_to(name):
        def press(page):
            for _ in range(60):
                page.keyboard.press("Tab")
                focused = page.evaluate("document.activeElement.innerText || document.activeElement.name || ''")
                if name in focused:
                    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                    hidden = page.evaluate(COVERED)
                    return ring, hidden
            raise AssertionError(f"no way to {name} by Tab")

        return browser(press)

    assert tab_to("notes.txt") == ("solid", False)
    browser(lambda page: page.keyboard.press("Enter"))
    browser(lambda page: page.wait_for_url("**/change/**"))
    assert tab_to("reason") == ("solid", False)
    browser(lambda page: page.keyboard.type("read it all"))
    assert tab_to("Deny") == ("solid", False)
    assert tab_to("Approve once") == ("solid", False)
    browser(lambda page: page.keyboard.press("Enter"))
    browser(lambda page: page.get_by_text("You approved this for one use").wait_for())
    asked.refresh_from_db()
    assert (asked.state, asked.reason) == ("approved", "read it all")
    clean(browser)


COVERED = """() => {
  const box = document.activeElement.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height / 2, 20));
  return !(top && (document.activeElement.contains(top) || top.contains(document.activeElement)));
}"""
PAGES = ["/admin/", "/admin/executions/execution/", "/admin/executions/call/", "/admin/executions/worker/",
         "/admin/ledger/event/", "/admin/artifacts/artifact/", "/admin/approvals/policyrule/",
         "/admin/approvals/policyrule/add/", "/admin/approvals/agent/add/", "/admin/executions/workspace/",
         "/admin/executions/workspace/add/", "/admin/knox/authtoken/"]  # fmt: skip


def test_an_operators_pages_are_clean(browser, asked):
    person("olga", "operators")
    log_in(browser, "olga", "/admin/")
    ref = Execution.objects.order_by("created_at").first().ref
    for n, path in enumerate([*PAGES, f"/admin/approvals/approval/{asked.ref}/change/"]):
        browser(lambda page, path=path: page.goto(f"{browser.url}{path}"))
        browser.picture(f"operator-{n}-{browser.width}")
        assert (path, browser.faults, max(browser.overflow(), 0)) == (path, [], 0)
    browser(lambda page: page.goto(f"{browser.url}/admin/executions/execution/"))
    browser(lambda page: page.locator(f"input[value={ref}]").check())
    browser(lambda page: page.locator("select[name=action]").select_option("Cancel selected executions"))
    browser.follow(lambda page: page.get_by_role("button", name="Go"))
    assert f"{ref} is cancelled" in browser(lambda page: page.get_by_role("status").first.inner_text())
    clean(browser)
