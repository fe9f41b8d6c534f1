import threading
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.db import connections

from approvals.models import Agent, Approval
from tests.db.api import READ, WRITE, client_of, post
from tests.db.executions import run_all
from tests.db.executions.conftest import *  # noqa: F403  # the caller, its workspace, the runtime
from tests.people import person


@pytest.fixture
def api(caller):
    """The agent's client."""
    return client_of(caller)


@pytest.fixture
def other(db):
    """Another agent's client."""
    user = User.objects.create_user("other")
    Agent.objects.create(user=user, owner=User.objects.create_user("olga"))
    return client_of(user)


@pytest.fixture
def ann(approver):
    """The approver's client, by token."""
    return client_of(approver)


@pytest.fixture
def operator(db):
    return client_of(person("oscar", "operators"))


@pytest.fixture
def done(api, workspace, folder, runtime):
    """The ref of a file.read that has succeeded."""
    (folder / "a.txt").write_text("hello")
    ref = post(api, READ, "done").json()["execution_ref"]
    run_all(runtime)
    return ref


@pytest.fixture
def asked(api, workspace, runtime):
    """The approval of a file.write that waits for a person."""
    post(api, WRITE, "asked")
    run_all(runtime)
    return Approval.objects.get()


@pytest.fixture
def driven():
    """`with driven(runtime):` a worker drives whatever comes, in a thread of its own, until the end of the block."""

    @contextmanager
    def drive(runtime):
        ended = threading.Event()

        def work():
            while not ended.wait(0.02):
                run_all(runtime)
            connections.close_all()

        thread = threading.Thread(target=work)
        thread.start()
        yield
        ended.set()
        thread.join(30)

    return drive


@pytest.fixture(autouse=True)
def _cheap(settings):
    """WhiteNoise reads every static file for every client made, and a real password hash takes half a second."""
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "whitenoise" not in name]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
