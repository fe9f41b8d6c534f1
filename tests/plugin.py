"""Loaded by pytest before Django: a throw-away FORGE_VAR, and the database the caller named (SQLite otherwise)."""

import atexit
import os
import shutil
import signal
import tempfile

from tests import environment

for name in [name for name in os.environ if name.startswith("FORGE_") and not name.startswith("FORGE_TEST_")]:
    if name != "FORGE_REQUIRE_ALL":
        del os.environ[name]  # a developer's own settings are no part of a test
VAR = tempfile.mkdtemp(prefix="forge-test-")
atexit.register(shutil.rmtree, VAR, ignore_errors=True)
os.environ["FORGE_VAR"] = VAR
os.environ["FORGE_HOST_ID"] = "test-host"
os.environ["FORGE_CAPABILITIES"] = "tests.marker,tests.echo"
os.environ["FORGE_API_DECISIONS"] = "1"
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in a shell's background: what tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
if environment.DATABASE_URL:
    os.environ["FORGE_DATABASE_URL"] = environment.DATABASE_URL


def pytest_configure(config):
    from django.conf import settings

    default = settings.DATABASES["default"]
    if default["ENGINE"].endswith("sqlite"):
        # In memory, 32 threads meet "table is locked"; a file behaves as the real thing does.
        default.setdefault("TEST", {})["NAME"] = os.path.join(VAR, "test.sqlite3")


def pytest_report_header(config):
    return f"forge: database {environment.DATABASE_URL or 'SQLite'}, broker {environment.BROKER_URL or 'files'}"
