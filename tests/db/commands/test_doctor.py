"""`doctor`: what is wrong, and how to mend it."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from executions.models import Workspace
from executions.services import workers
from executions.services.runtime import Runtime
from forge_project.kernel import clock
from forge_project.ledger.events import Identity, fact
from forge_project.ledger.writing import writing
from tests.db.commands import run
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def found(part, code=None):
    ended, said = run("doctor", "--json")
    if code is not None:
        assert ended == code, said
    return [(one["grade"], one["said"], one["mend"]) for one in json.loads(said) if one["part"] == part]


@pytest.fixture
def var(settings, tmp_path):
    settings.FORGE_VAR = tmp_path / "var"
    settings.FORGE_VAR.mkdir(mode=0o700)
    return settings.FORGE_VAR


def test_a_good_set_up(db, var, approver):
    runtime = Runtime()
    workers.register(runtime)
    runtime.close()
    code, said = run("doctor")
    assert code == 0
    lines = {line.split()[1]: line.split()[0] for line in said.splitlines() if not line.startswith(" ")}
    assert {part: grade for part, grade in lines.items() if part not in {"account", "settings"}} == dict.fromkeys(
        (
            "python",
            "storage",
            "engine",
            "ripgrep",
            "broker",
            "database",
            "clock",
            "checkpoints",
            "workers",
            "workspaces",
            "holds",
            "people",
        ),
        "ok",
    )
    assert "isolation" in said


def test_files_open_to_others(db, var):
    (var / "keys.env").touch(mode=0o600)
    (var / "leak").touch(mode=0o644)
    (var / "demo").mkdir(mode=0o755)  # behind var's own 0700
    assert found("storage", 1) == [("fail", f"{var}/leak is open to other users", f"chmod go= {var}/leak")]


def test_a_workspace_that_is_gone(db, var):
    Workspace.objects.create(name="gone", path="/no/such", hosts=["test-host"])
    Workspace.objects.create(name="elsewhere", path="/no/such", hosts=["b"])
    ((grade, said, _),) = found("workspaces", 1)
    assert (grade, said) == ("fail", "gone: /no/such is not there")


def test_people(db, var):
    assert found("people", 0)[0][:2] == ("warn", "nobody can approve")
    ann = person("ann", "approvers")
    assert found("people", 0) == [("ok", "1 can approve", "")]
    ann.groups.add(Group.objects.get(name="operators"))
    assert found("people", 0)[0][:2] == ("warn", "ann is approver and operator")


def test_a_clock_behind_the_ledger(db, var, monkeypatch):
    later = clock.now() + timedelta(hours=1)
    identity = Identity(invocation_id="i", session_id="s", run_id="r", turn_id="t", owner="o")
    with monkeypatch.context() as turned, writing("i", opening=identity) as page:
        turned.setattr(clock, "now", lambda: later)
        page.add(fact("x"))
    ((grade, said, _),) = found("clock", 1)
    assert (grade, said.startswith("behind the newest fact")) == ("fail", True)


def test_a_clock_apart_from_the_databases(db, var, monkeypatch):
    there = clock.now
    monkeypatch.setattr(clock, "now", lambda: there() - timedelta(seconds=30))
    ((grade, said, _),) = found("clock", 1)
    assert (grade, said.endswith("s from the database's")) == ("fail", True)


def test_a_missing_engine_and_search(db, var, monkeypatch):
    from executions.sandbox import engine
    from executions.services.doctor import host
    from forge_project.kernel.errors import NotReady

    def gone(*_):
        raise NotReady("no engine is installed")

    monkeypatch.setattr(engine, "check", gone)
    monkeypatch.setattr(host.ripgrep, "binary", gone)
    assert found("engine", 1)[0][0] == "fail"
    assert found("ripgrep", 1)[0][0] == "fail"


def test_a_broker_that_is_down(db, var, settings):
    from celery import current_app

    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    before = current_app.conf.broker_write_url
    current_app.conf.broker_write_url = "redis://127.0.0.1:1/0"
    try:
        ((grade, said, mend),) = found("broker", 1)
    finally:
        current_app.conf.broker_write_url = before
    assert (grade, said.startswith("redis can't be reached"), "FORGE_BROKER_URL" in mend) == ("fail", True, True)


def test_a_database_that_is_behind_or_ahead(db, var):
    from django.db.migrations.loader import MigrationLoader
    from django.db.migrations.recorder import MigrationRecorder

    (last,) = MigrationLoader(connection).graph.leaf_nodes("executions")
    recorder = MigrationRecorder(connection)
    recorder.record_applied("executions", "9999_from_the_future")
    try:
        assert found("database", 1)[0][1] == "made by a newer Forge: executions.9999_from_the_future"
        recorder.record_unapplied(*last)
        assert found("database", 1)[1][2] == "python manage.py migrate"
        assert found("people") == []  # not looked at in a database that is not ready
    finally:
        recorder.record_applied(*last)
        recorder.record_unapplied("executions", "9999_from_the_future")


def test_checkpoints_that_do_not_reach_their_sink(db, tmp_path, settings):
    settings.FORGE_CHECKPOINT_SINK = str(tmp_path / "sink" / "file")
    assert found("checkpoints") == [("ok", "0 signed, sent to a file", "")]
    (tmp_path / "sink").touch(mode=0o600)  # where the directory should be
    written("a")
    assert run("ledger_checkpoint") == (1, "the file can't be written: File exists")
    ((grade, said, _),) = found("checkpoints")
    assert (grade, said) == ("warn", "checkpoint 1 is not in the sink: the file can't be written: File exists")
    (tmp_path / "sink").unlink()
    assert run("ledger_checkpoint") == (0, "nothing moved since the last checkpoint\n")
    assert found("checkpoints") == [("ok", "1 signed, sent to a file", "")]


def test_events_that_nobody_signs(db, monkeypatch):
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() - timedelta(minutes=20))
    written("a")
    monkeypatch.setattr(clock, "now", real)
    ((grade, said, mend),) = found("checkpoints")
    assert (grade, said[:39]) == ("warn", "1 chains grew and nothing signs them, t")
    assert "ledger_checkpoint --every 300" in mend
    run("ledger_checkpoint")
    assert found("checkpoints") == [("ok", "1 signed, kept here alone, no FORGE_CHECKPOINT_SINK", "")]


def written(name):
    with writing(
        name, opening=Identity(invocation_id=name, session_id="s", run_id="r", turn_id="t", owner="o")
    ) as page:
        page.add(fact("step"))
