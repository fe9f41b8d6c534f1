"""`reconcile`: settles what dead workers left."""

import json
from datetime import timedelta

import pytest

from executions.models import Execution, Worker
from executions.services import workers
from executions.services.claim import claim_next
from executions.services.runtime import Runtime
from forge_project.kernel import clock
from tests.db.commands import run
from tests.db.executions import send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def abandoned(caller):
    """An execution whose worker is gone."""
    sent = send(caller, source="return 1")
    runtime = Runtime()
    workers.register(runtime)
    claim_next(runtime)
    runtime.close()
    Worker.objects.filter(pk=runtime.worker_id).update(pid=2**22 - 1, start_time=1)
    return sent.ref


def test_nothing_to_do(db):
    assert run("reconcile") == (0, "0 executions whose worker is gone\n")
    assert Worker.objects.get().stopped_at is not None


def test_a_dry_run_changes_nothing(abandoned):
    before = Execution.objects.values().get(), Worker.objects.count()
    code, said = run("reconcile", "--dry-run")
    assert (code, said.splitlines()[0]) == (1, f"{abandoned}: would be settled")
    assert (Execution.objects.values().get(), Worker.objects.count()) == before


def test_it_settles_and_says_so(abandoned):
    code, said = run("reconcile", "--json")
    told = json.loads(said)
    assert (code, told) == (0, {"found": [{"ref": abandoned, "became": "failed"}], "problem": False})
    assert Execution.objects.get().error_code == "ISOLATE_FAILURE"
    assert Worker.objects.filter(stopped_at=None).count() == 1  # the dead one


def test_a_worker_that_an_operator_says_is_dead(abandoned):
    silent = {"host": "elsewhere", "heartbeat": clock.now() - timedelta(hours=1)}
    Worker.objects.update(**silent)
    ref = str(Worker.objects.get().pk)
    code, told = run("reconcile", "--worker-dead", ref, "--json")
    assert (code, json.loads(told)["found"]) == (0, [{"ref": abandoned, "became": "failed"}])
    assert Worker.objects.get(pk=ref).dead_at is not None
    assert run("reconcile", "--worker-dead", "nobody")[0] == 2


def test_a_worker_whose_heart_beats_is_not_dead(abandoned):
    Worker.objects.update(host="elsewhere", heartbeat=clock.now())
    assert run("reconcile", "--worker-dead", str(Worker.objects.get().pk))[0] == 1
    assert Execution.objects.get().status == "running"
