"""What one execution asks of the database: each statement is time under load, so they are counted."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions.models import Execution
from tests.db.executions import run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
READS = "return (await tools.call('file.read', {path: 'a'})).content.length"
SUBMIT, RUN = 16, {"postgresql": 44, "sqlite": 48}  # with BEGIN and COMMIT, and the heartbeat that `run_one` writes


@pytest.fixture
def warm(caller, workspace, folder, runtime, settings):
    """The second execution of a caller: what a first one has to make is there."""
    settings.FORGE_LINGER_MS = 0
    (folder / "a").write_text("hello")
    send(caller, key="first", source=READS, workspace="ws")
    run_one(runtime)


def counted(act):
    with CaptureQueriesContext(connection) as heard:
        act()
    return [" ".join(query["sql"].split())[:100] for query in heard]


def test_a_submission_and_a_run_with_one_read(warm, caller, runtime):
    submitted = counted(lambda: send(caller, source=READS, workspace="ws"))
    assert len(submitted) <= SUBMIT, submitted
    ran = counted(lambda: run_one(runtime))
    assert len(ran) <= RUN[connection.vendor], ran
    assert Execution.objects.filter(status="succeeded").count() == 2
    assert not [sql for sql in submitted + ran if "SAVEPOINT" in sql]
