"""`demo --leave-pending` as a person meets it: log in where it says, look, approve, and see it applied."""

import re
import signal
import subprocess

import pytest

from tests.browser.conftest import WATCH
from tests.process.commands import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def left(site, tmp_path):
    """A demo that waits for a person: (address, user, password, its output)."""
    log = tmp_path / "demo.log"
    with log.open("w") as output:
        process = site.start(*site.command("demo", "--leave-pending"), stdout=output, stderr=subprocess.STDOUT)
    found = eventually(lambda: re.search(r"decide it: (http://\S+)", log.read_text()), 90)
    who = eventually(lambda: re.search(r"user (\S+)   password (\S+)", log.read_text()), 10)
    yield found[1], who[1], who[2]
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0, log.read_text()


def test_a_person_approves_what_the_demo_left(left, chromium):
    address, user, password = left
    thread, shown = chromium
    faults = []

    def walk():
        page = shown.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.add_init_script(WATCH)
        page.on("console", lambda said: faults.append(said.text) if "CSP" in said.text else None)
        page.goto(address)
        page.get_by_label("Username").fill(user)
        page.get_by_label("Password").fill(password)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Approve once").click()  # the second click after the log-in's Enter
        page.get_by_role("link", name=re.compile("^exec_")).first.click()
        for _ in range(100):
            if "Succeeded" in page.locator("main, #content").first.inner_text():
                break
            page.wait_for_timeout(200)
            page.reload()
        text = page.locator("main, #content").first.inner_text()
        page.context.close()
        return text

    text = thread.submit(walk).result(120)
    assert re.search(r"Side effect:\s+Applied", text), text[:2000]
    assert "patch.apply, consumed" in text
    assert faults == []


def test_four_clicks_are_enough_for_a_newcomer(left, chromium):
    """From the address alone, by what the pages say: log in, and count every click until it is approved."""
    address, user, password = left
    thread, shown = chromium

    def walk():
        page = shown.new_context(viewport={"width": 390, "height": 844}).new_page()
        page.goto(address.split("/admin/")[0])
        page.get_by_label("Username").fill(user)
        page.get_by_label("Password").fill(password)
        page.keyboard.press("Enter")
        clicks = 0
        for found in (
            page.get_by_role("link", name="1 waiting for me"),
            page.get_by_role("link", name="patch.apply"),
            page.get_by_role("button", name="Approve once"),
        ):
            found.first.click()
            clicks += 1
        page.get_by_text("You approved this for one use").wait_for()
        page.get_by_text("its effect: applied").wait_for(timeout=30_000)
        page.context.close()
        return clicks

    assert thread.submit(walk).result(120) <= 4
