"""`hold`, `release`, and where a hold is seen."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from executions.bounds import Hold
from executions.services.doctor.services import holding
from tests.db.api import client_of, get, post
from tests.db.executions import run_all, send
from tests.db.executions.conftest import *  # noqa: F403  # the caller, its workspace, the runtime

pytestmark = pytest.mark.django_db(transaction=True)


def said(*args):
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue().strip()


def test_held_and_released(caller, workspace, runtime):
    sent = send(caller, source="return 1")
    assert said("hold", "--caller", "robo", "--reason", "incident 7") == "held: caller robo"
    (found,) = holding()
    assert (found.grade, "incident 7" in found.said) == ("warn", True)
    assert found.mend == "python manage.py release --caller robo --reason …"
    run_all(runtime)
    told = get(client_of(caller), f"/executions/{sent.ref}/").json()
    assert (told["status"], told["held"]["reason"], told["next"]["action"]) == ("queued", "incident 7", "wait")
    assert "incident 7" in told["next"]["message"]
    assert said("release", "--caller", "robo", "--reason", "over") == "released: caller robo"
    assert [one.grade for one in holding()] == ["ok"]
    assert "held" not in get(client_of(caller), f"/executions/{sent.ref}/").json()


def test_everything_without_a_name(caller):
    assert said("hold", "--reason", "x") == "held: everything"
    assert post(client_of(caller), {"source": "1"}).json()["held"]["reason"] == "x"  # accepted, and it waits


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["hold"], None), (["hold", "--caller", "a", "--workspace", "b", "--reason", "x"], None),
        (["hold", "--caller", "nobody", "--reason", "x"], 2), (["hold", "--reason", " "], 2),
        (["release", "--reason", "x"], 2),
    ],
)  # fmt: skip
def test_a_wrong_one_changes_nothing(db, args, code):
    with pytest.raises(CommandError) as refused:
        call_command(*args)
    assert code is None or refused.value.returncode == code
    assert not Hold.objects.exists()


def test_twice_is_a_problem_not_a_usage(db):
    said("hold", "--reason", "x")
    with pytest.raises(CommandError) as refused:
        call_command("hold", "--reason", "x")
    assert refused.value.returncode == 1
