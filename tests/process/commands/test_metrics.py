"""`/metrics` of a real `serve`: on its own address, right over the death of the web's worker."""

import os
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest

from tests.process.commands import children
from tests.process.commands.test_serve import _is, serve  # noqa: F401  # a fixture


def fetch(url):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
        return answer.read().decode()


def answers(url):
    try:
        return fetch(url)
    except OSError:
        return ""


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def count(text, route):
    found = re.search(rf'forge_http_request_seconds_count{{[^}}]*route="{route}"[^}}]*}} ([0-9.]+)', text)
    return float(found[1]) if found else 0


def test_serve_answers_scrapes(serve):  # noqa: F811
    running = serve(FORGE_METRICS_BIND="127.0.0.1:0")
    running.up()
    at = re.search(r"metrics (http\S+)", running.log.read_text())[1]
    fetch(running.url + "/healthz")
    text = until(lambda: answers(at))
    assert "forge_database_up 1.0" in text
    assert 'forge_executions{status="queued"} 0.0' in text
    before = until(lambda: count(fetch(at), "healthz"))
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(at.removesuffix("/metrics") + "/admin/")
    web = next(pid for pid in children(running.process.pid) if _is(pid, "gunicorn"))
    os.kill(children(web)[0], signal.SIGKILL)
    until(lambda: answers(running.url + "/healthz"))
    until(lambda: count(fetch(at), "healthz") > before)


def test_a_taken_port_costs_the_figures_only(serve):  # noqa: F811
    with socket.create_server(("127.0.0.1", 0)) as taken:
        running = serve(FORGE_METRICS_BIND=f"127.0.0.1:{taken.getsockname()[1]}")
        running.up()
        assert "metrics are not served" in running.log.read_text()
