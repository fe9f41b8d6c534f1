"""Approve this and similar in a real browser: the next one passes by the grant, which is listed and taken back."""

import pytest

from approvals.models import Approval, Grant
from tests.browser.test_approve import clean, log_in
from tests.db.executions import run_all, send
from tests.people import person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def write(caller, runtime, name):
    send(caller, key=name, capability="file.write", input={"path": name, "content": "new\n"}, workspace="ws")
    run_all(runtime)
    return Approval.objects.order_by("-requested_at").first()


def test_chosen_used_listed_and_revoked(browser, caller, workspace, folder, runtime):
    (folder / "docs").mkdir()
    row = write(caller, runtime, "docs/one.md")
    person("ann", "approvers")
    log_in(browser, "ann", f"/admin/approvals/approval/{row.ref}/change/")
    browser(lambda page: page.locator("summary", has_text="Approve this and similar").click())
    browser(lambda page: page.get_by_label("Only where this holds").fill('target.path.startsWith("src/")'))
    browser(lambda page: page.get_by_label("At most so many times").fill("2"))
    browser(lambda page: page.locator("select[name=lasts]").select_option("1 hour"))
    browser.picture(f"similar-{browser.width}")
    browser.picture(f"similar-bar-{browser.width}", whole=False)
    assert browser.axe() == []
    clean(browser)
    browser.follow(lambda page: page.get_by_role("button", name="Approve this and similar"))
    assert "does not hold for this very request" in browser(lambda page: page.get_by_role("alert").inner_text())
    assert browser(lambda page: page.locator("details[open] summary").inner_text()) == "Approve this and similar"
    browser.faults = [fault for fault in browser.faults if "400 (Bad Request)" not in fault]

    browser(lambda page: page.get_by_label("Only where this holds").fill('target.path.startsWith("docs/")'))
    browser(lambda page: page.get_by_label("At most so many times").fill("2"))
    browser(lambda page: page.locator("select[name=lasts]").select_option("1 hour"))
    browser.follow(lambda page: page.get_by_role("button", name="Approve this and similar"))
    grant = Grant.objects.get()
    said = browser(lambda page: page.locator("#content").inner_text())
    assert f"Answered by the standing grant {grant.ref}" in said
    assert "stands now" in browser(lambda page: page.get_by_role("status").first.inner_text())
    run_all(runtime)

    second = write(caller, runtime, "docs/two.md")
    assert (second.state, second.grant, grant.max_uses) == ("consumed", grant.ref, 2)
    assert write(caller, runtime, "src.md").state == "pending"
    assert sorted(path.name for path in (folder / "docs").iterdir()) == ["one.md", "two.md"]
    browser(lambda page: page.goto(f"{browser.url}/admin/approvals/approval/{second.ref}/change/"))
    clean(browser)
    browser.follow(lambda page: page.get_by_role("link", name=grant.ref))
    assert "at most 2 times within 1h" in browser(lambda page: page.locator("#content").inner_text())
    assert browser.axe() == []
    clean(browser)

    browser(lambda page: page.goto(f"{browser.url}/admin/approvals/grant/"))
    browser.picture(f"grants-{browser.width}")
    assert browser.axe() == []
    browser(lambda page: page.locator(f"input[value={grant.ref}]").check())
    browser(lambda page: page.locator("select[name=action]").select_option("Revoke selected grants (say why)"))
    browser(lambda page: page.get_by_label("Reason").fill("enough of it"))
    browser.follow(lambda page: page.get_by_role("button", name="Go"))
    assert f"{grant.ref} is revoked" in browser(lambda page: page.get_by_role("status").first.inner_text())
    grant.refresh_from_db()
    assert (grant.uses, grant.ended_by.username, grant.end_reason) == (2, "ann", "enough of it")
    assert write(caller, runtime, "docs/three.md").state == "pending"
    clean(browser)
