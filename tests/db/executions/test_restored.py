"""A database older than its sink dispatches nothing until somebody says it was restored."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from executions.models import Execution
from forge_project.ledger import checkpoints
from tests.db.executions import run_one, send

pytestmark = pytest.mark.django_db(transaction=True)


def said(*args):
    out = StringIO()
    call_command("restored", *args, stdout=out)
    return out.getvalue().strip()


@pytest.fixture
def older(caller, settings, tmp_path):
    """Two executions; the sink knows more of the first than the database does."""
    settings.FORGE_CHECKPOINT_SINK = str(tmp_path / "sink")
    first = send(caller, "k1", source="return 1")
    checkpoints.take()
    second = send(caller, "k2", source="return 2")
    was = list(Execution.objects.values_list("pk", flat=True))
    assert was
    line = (tmp_path / "sink").read_text()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledger_invocation SET head_seq = head_seq + 3 WHERE id = %s", [first.ref])
        assert checkpoints.take() == [2]
        cursor.execute(
            "UPDATE ledger_invocation SET head_seq = head_seq - 3, checkpointed_seq = 0 WHERE id = %s", [first.ref]
        )
        cursor.execute("DELETE FROM ledger_checkpoint WHERE number = 2")
    assert (tmp_path / "sink").read_text().startswith(line)
    return first, second


def test_it_claims_nothing_until_it_is_said(older, runtime):
    first, second = older
    assert run_one(runtime) is None
    assert said().splitlines() == [
        f"{first.ref}: set aside, it had gone further than this database knows",
        "checkpoint 3 goes on; 0 executions were settled",
    ]
    assert said() == "the database is not older than its sink: nothing to do"
    assert run_one(runtime) == second.ref
    assert run_one(runtime) is None  # what may have been done already is not done again
    assert Execution.objects.get(pk=first.ref).quarantined.startswith("restored from a backup")
