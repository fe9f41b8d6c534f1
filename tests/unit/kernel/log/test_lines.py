"""A line is one JSON object without a secret; whatever goes wrong in logging stays there."""

import json
import logging
import subprocess
import sys
import time

import pytest

from forge_project.kernel.log import trace
from forge_project.kernel.log.event import event
from forge_project.kernel.log.form import formatter
from tests.sites import ROOT

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def lines():
    """What the handler's formatter makes of what is logged."""
    made, form = [], formatter()
    handler = logging.Handler()
    handler.emit = lambda record: made.append(json.loads(form.format(record)))
    logging.getLogger().addHandler(handler)
    yield made
    logging.getLogger().removeHandler(handler)


def test_an_event(lines):
    with trace.bound(correlation_id="c1"):
        event("executions", "started", execution_ref="exec_1", task="", attempt=2)
    line = lines[0]
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "started", "component": "executions", "level": "info", "execution_ref": "exec_1", "attempt": 2,
        "correlation_id": "c1",
    }  # fmt: skip


def test_lines_of_others_look_the_same(lines):
    logging.getLogger("celery.worker").warning("lost %s", "it")
    logging.getLogger("django.request").error("Internal: %s", "/x")
    assert [(line["component"], line["event"]) for line in lines] == [
        ("celery.worker", "lost it"), ("django.request", "Internal: /x"),
    ]  # fmt: skip


def test_no_secret_in_it_nor_in_a_trace(lines):
    try:
        raise ValueError(f"Authorization: Bearer {SECRET}")
    except ValueError as error:
        logging.getLogger("forge.x").error("password=%s", "hunter22222", exc_info=error)
    event("x", "y", token=SECRET, url=f"https://user:{SECRET}@example.com", nested={"api_key": "k" * 20})
    told = json.dumps(lines)
    assert SECRET not in told
    assert "hunter22222" not in told
    assert "k" * 20 not in told
    assert "ValueError" in lines[0]["exception"]


class Awkward:
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("value", [Awkward(), {1: {2, 3}}, b"\xff", float("nan"), "\ud800", "\0", 2**70])
def test_any_value_at_all(value):
    event("x", "y", value=value)


def test_a_broken_handler_changes_nothing():
    handler = logging.Handler()

    def broken(record):
        raise OSError("disk full")

    handler.emit = broken
    logging.getLogger("forge").addHandler(handler)
    try:
        event("x", "y")
    finally:
        logging.getLogger("forge").removeHandler(handler)


SERVING = """
import os, sys, time, logging
os.environ["DJANGO_SETTINGS_MODULE"] = "forge_project.settings"
import django; django.setup()
from forge_project.kernel.log import out
from forge_project.kernel.log.event import event
out.serve()
"""


def serving(code, **kwargs):
    command = [sys.executable, "-c", SERVING + code]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


def test_a_serving_process_writes_json_on_stdout():
    told, wrong = serving("event('x', 'y', a=1); logging.getLogger('django').error('z')").communicate(timeout=60)
    assert [json.loads(line)["event"] for line in told.splitlines()] == ["y", "z"]
    assert wrong == b""


def test_a_reader_that_stops_or_goes_stops_nobody():
    busy = "[event('x', 'y', a='z' * 1000) for _ in range(2000)]; sys.stderr.write('done'); sys.stderr.flush()"
    with serving(busy) as stopped:  # nobody reads: 2 MB into a pipe of 64 KiB
        assert stopped.stderr.read(4) == b"done"
        stopped.kill()
        stopped.stdout.close()
    with serving("time.sleep(1);" + busy) as gone:
        gone.stdout.close()
        assert gone.stderr.read() == b"done"
        began = time.monotonic()
        assert gone.wait(30) == 0
        assert time.monotonic() - began < 10
