"""GET /healthz and /readyz"""

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from executions.api import health
from executions.services import workers
from executions.services.runtime import Runtime
from forge_project.kernel.errors import NotReady
from tests.db.api import refused

pytestmark = pytest.mark.django_db(transaction=True)  # readiness looks through connections of its own


@pytest.fixture(autouse=True)
def _a_broker(settings, tmp_path):
    settings.CELERY_BROKER_URL = "forge-file://localhost"
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder": str(tmp_path / "data"),
        "control_folder": str(tmp_path / "control"),
    }


def failing(client):
    return refused(client.get("/readyz"), 503, "EXECUTOR_UNAVAILABLE")["parts"]


def test_ready(client):
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert set(answer.json()["parts"]) == {"database", "migrations", "broker", "engine", "storage"}


def test_ready_names_the_isolation_of_the_workers_that_live(client):
    assert client.get("/readyz").json()["isolation"] == []
    for level in ("seccomp+ns", "weak", "seccomp"):
        runtime = Runtime()
        row = workers.register(runtime, isolation=level)
        if level == "seccomp":
            workers.stop(row.pk)
        runtime.close()
    assert client.get("/readyz").json()["isolation"] == ["seccomp+ns", "weak"]


def test_healthy_whatever_the_rest_does(client, monkeypatch):
    monkeypatch.setattr(health, "faults", lambda: {"database": "gone"})
    assert client.get("/healthz").json() == {"status": "ok"}
    refused(client.post("/healthz"), 405, "INVALID_REQUEST")


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "amqp://guest:secret@127.0.0.1:1//"])
def test_the_broker_is_named(client, settings, url):
    settings.CELERY_BROKER_URL, settings.CELERY_BROKER_TRANSPORT_OPTIONS = url, {}
    answer = client.get("/readyz")
    assert list(refused(answer, 503, "EXECUTOR_UNAVAILABLE")["parts"]) == ["broker"]
    assert "secret" not in answer.content.decode()


def test_storage_is_named(client, settings, tmp_path):
    settings.FORGE_VAR = tmp_path / "gone"
    assert failing(client) == {"storage": "FileNotFoundError"}


def test_the_engine_is_named(client, monkeypatch):
    def check():
        raise NotReady("no engine is installed", code="ENGINE_NOT_READY", part="engine")

    monkeypatch.setattr("executions.sandbox.engine.check", check)
    assert failing(client) == {"engine": "no engine is installed"}


@pytest.fixture
def recorder():
    """What is changed in it is put back: these tests commit."""
    recorder = MigrationRecorder(connection)
    before = set(recorder.applied_migrations())
    yield recorder
    for name in set(recorder.applied_migrations()) - before:
        recorder.record_unapplied(*name)
    for name in before - set(recorder.applied_migrations()):
        recorder.record_applied(*name)


def test_an_unknown_migration_is_named(client, recorder):
    recorder.record_applied("executions", "9999_from_the_future")
    assert failing(client) == {"migrations": "unknown: executions.9999_from_the_future"}


def test_an_unapplied_migration_is_named(client, recorder):
    ((app, last),) = MigrationLoader(connection).graph.leaf_nodes("executions")
    recorder.record_unapplied(app, last)
    assert f"unapplied: {app}.{last}" in failing(client)["migrations"]


def test_the_database_is_named(client, monkeypatch):
    def gone(*args):
        from django.db import OperationalError

        raise OperationalError("connection to 10.0.0.1 failed")

    with monkeypatch.context() as patched:
        patched.setattr(connection, "cursor", gone)
        parts = failing(client)
    assert parts["database"] == "OperationalError"
    assert set(parts) == {"database", "migrations"}
