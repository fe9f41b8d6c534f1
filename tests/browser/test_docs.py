"""The page of the API in a real browser: every operation is there, and the policy has nothing to object to."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_it_shows_the_operations(browser):
    def look(page):
        page.goto(f"{browser.url}/api/v1/docs/")
        page.wait_for_selector(".opblock", timeout=30_000)
        page.locator("#operations-executions-executions_submit .opblock-summary-control").first.click()
        page.wait_for_selector("text=Idempotency-Key", timeout=10_000)
        return page.locator(".opblock").count()

    assert browser(look) >= 20
    assert browser.faults == []
    browser.picture(f"docs-{browser.width}", whole=False)
