"""`run`: submits in an agent's name and follows."""

import io
import threading

import pytest
from django.db import connection

from executions.models import Execution
from tests.db.commands import run
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.js"
    path.write_text("progress('half', {completed: 1, total: 2}); text('said \\u001b[31m'); return input.a + 1")
    return str(path)


def test_without_follow_it_prints_the_ref(caller, script):
    code, ref = run("run", script, "--caller", "robo", "--input", '{"a": 1}', "--key", "k")
    row = Execution.objects.get()
    assert (code, ref.strip(), row.idempotency_key, row.status) == (0, row.ref, "k", "queued")
    assert run("run", script, "--caller", "robo", "--input", '{"a": 1}', "--key", "k")[1] == ref


def follow(runtime, *args):
    """What `run --follow` prints while another thread is the worker."""
    ended = []

    def work():
        while not ended:
            run_all(runtime)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        return run(*args, "--follow")
    finally:
        ended.append(True)
        worker.join()


def test_follow_shows_everything_and_forges_nothing(caller, script, runtime):
    code, said = follow(runtime, "run", script, "--caller", "robo", "--input", '{"a": 1}')
    assert code == 0
    assert "progress  half 1/2" in said
    assert "output    said \\u{001B}[31m" in said
    assert "\x1b" not in said
    assert said.splitlines()[-2:] == ["status    succeeded", "result    2"]


def test_follow_exits_1_when_it_fails(caller, tmp_path, runtime):
    path = tmp_path / "script.js"
    path.write_text("throw new Error('boom')")
    code, said = follow(runtime, "run", str(path), "--caller", "robo")
    assert code == 1
    assert "error     SCRIPT_RUNTIME: " in said


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--caller", "owen"), "no such agent"),
        (("--caller", "robo", "--input", "{"), ""),
        (("--caller", "robo", "--workspace", "none"), "not granted"),
        (("--caller", "robo", "--key", "a b"), "Idempotency-Key"),
    ],
)
def test_it_refuses_what_the_api_refuses(caller, script, args, told):
    code, said = run("run", script, *args)
    assert (code, told in said, Execution.objects.count()) == (2, True, 0)


def test_it_needs_a_file(caller, monkeypatch):
    assert run("run", "/no/such/file.js", "--caller", "robo")[0] == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("return 1"))
    assert run("run", "-", "--caller", "robo")[0] == 0
