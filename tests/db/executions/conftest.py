import pytest
from django.contrib.auth.models import User

from approvals.models import Agent
from approvals.services.rules import SaveRule, save_rule
from executions.capabilities.base import Unknown
from executions.models import Execution, Workspace, WorkspaceAccess
from executions.sandbox.zygotes import Zygotes
from executions.services import workers
from executions.services.reconcile import reconcile
from executions.services.runtime import Runtime
from forge_project.kernel import failpoints
from forge_project.ledger.verify import verify
from tests.db.executions import run_one, send
from tests.marker import Marker
from tests.people import person


@pytest.fixture(autouse=True)
def _ledger_is_clean(db):
    yield
    assert verify().findings == []


@pytest.fixture
def approver(db):
    return person("ann", "approvers")


@pytest.fixture
def caller(db):
    owner = User.objects.create_user("owen")
    user = User.objects.create_user("robo")
    Agent.objects.create(user=user, owner=owner)
    return user


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "ws"
    place.mkdir()
    return place


@pytest.fixture
def workspace(caller, folder):
    row = Workspace.objects.create(name="ws", path=str(folder), hosts=["test-host"])
    WorkspaceAccess.objects.create(workspace=row, user=caller)
    return row


@pytest.fixture
def rule(approver):
    """`rule(capability, decision)` makes a rule for everybody."""

    def save(capability, decision):
        save_rule(SaveRule(name=capability, priority=1, capability=capability, decision=decision, author=approver))

    return save


@pytest.fixture
def marker(tmp_path, monkeypatch, approver):
    path = tmp_path / "marker"
    monkeypatch.setenv("FORGE_TEST_MARKER", str(path))
    save_rule(SaveRule(name="marker", priority=1, capability="tests.*", decision="ALLOW", author=approver))
    return path


@pytest.fixture(scope="session")
def zygotes():
    with_ = Zygotes.start()
    yield with_
    with_.close()


@pytest.fixture
def runtime(db, zygotes):
    made = Runtime(zygotes=zygotes)
    workers.register(made)
    yield made
    made.calls.shutdown(wait=True)


@pytest.fixture
def second(db):
    """Another worker, without guests."""
    made = Runtime()
    workers.register(made)
    return made


@pytest.fixture
def unknown(caller, runtime, marker, monkeypatch, settings):
    """`unknown(**body)`: an execution whose worker died in a call of tests.marker, and nothing could be looked at."""

    def make(key="unknown", point="effect.after", **body):
        settings.FORGE_LINGER_MS = 0
        sent = send(caller, key, **(body or {"capability": "tests.marker", "input": {"text": "x"}}))
        with failpoints.crash_at(point):
            run_one(runtime)
        with monkeypatch.context() as patch:
            patch.setattr(Marker, "reconcile", lambda *_: Unknown("nobody can tell"))
            reconcile(runtime)
        assert Execution.objects.get(pk=sent.ref).status == "unknown"
        return sent.ref

    return make
