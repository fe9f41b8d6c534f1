"""A real Chromium against a live server. Playwright keeps to a thread of its own: its event loop would make Django
refuse the database in this one."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import environment
from tests.db.executions.conftest import (  # noqa: F401  # fixtures
    approver,
    caller,
    folder,
    runtime,
    workspace,
    zygotes,
)
from tests.sites import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SCREENSHOTS = ROOT / "screenshots"
WATCH = "document.addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.violatedDirective))"
WIDTHS = {"wide": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


class Browser:
    """Runs functions of a page in the browser's thread, and remembers what the page complained about."""

    def __init__(self, thread, page):
        self.thread, self.page, self.faults = thread, page, []
        page.add_init_script(WATCH)
        page.on("console", self.heard)
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))

    def heard(self, said):
        if said.type == "error" and not said.location["url"].endswith("/favicon.ico"):
            self.faults.append(said.text)

    def __call__(self, job):
        return self.thread.submit(job, self.page).result(60)

    def follow(self, found):
        """Clicks what `found(page)` gives, and waits until the page it leads to is there: a click alone does not."""

        def steps(page):
            with page.expect_navigation():
                found(page).click()

        self(steps)

    def picture(self, name, *, whole=True):
        self(lambda page: page.screenshot(path=str(SCREENSHOTS / f"{name}.png"), full_page=whole))

    def axe(self):
        """What axe-core finds against WCAG and good practice: (rule, where), as many as there are."""
        from axe_playwright_python.sync_playwright import Axe

        options = {"resultTypes": ["violations"], "preload": False}  # preloading writes style sheets our CSP refuses
        found = self(lambda page: Axe().run(page, options=options)).response["violations"]
        return [(one["id"], node["html"][:200]) for one in found for node in one["nodes"]]

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self(lambda page: page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@pytest.fixture(scope="session")
def chromium():
    """(the browser's thread, a launched Chromium)"""
    if CHROMIUM is None:
        assert not environment.REQUIRE_ALL, "no chromium on PATH"
        pytest.skip("no chromium on PATH")
    from playwright.sync_api import sync_playwright

    SCREENSHOTS.mkdir(exist_ok=True)
    with ThreadPoolExecutor(1) as thread:
        driver = thread.submit(lambda: sync_playwright().start()).result(60)
        shown = thread.submit(lambda: driver.chromium.launch(executable_path=CHROMIUM, args=ARGS)).result(60)
        yield thread, shown
        thread.submit(shown.close).result(60)
        thread.submit(driver.stop).result(60)


@pytest.fixture(params=list(WIDTHS))
def browser(request, chromium, live_server):
    thread, shown = chromium
    context = thread.submit(lambda: shown.new_context(viewport=WIDTHS[request.param])).result(60)
    made = thread.submit(lambda: Browser(thread, context.new_page())).result(60)
    made.width, made.url = request.param, live_server.url
    yield made
    thread.submit(context.close).result(60)
