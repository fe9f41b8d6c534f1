"""`call`: one capability in an agent's name."""

import pytest

from executions.models import Execution
from tests.db.commands import run
from tests.db.commands.test_run import follow

pytestmark = pytest.mark.django_db(transaction=True)
ECHO = ("call", "tests.echo", '{"value": 7}', "--caller", "robo")


def test_without_follow_it_prints_the_ref(caller):
    code, ref = run(*ECHO, "--key", "k")
    row = Execution.objects.get()
    assert (code, ref.strip(), row.capability, row.kind) == (0, row.ref, "tests.echo", "capability")
    assert run(*ECHO, "--key", "k")[1] == ref


def test_follow_shows_its_result(caller, runtime):
    code, said = follow(runtime, *ECHO)
    assert code == 0
    assert said.splitlines()[-2:] == ["status    succeeded", 'result    {"value":7}']


def test_follow_exits_1_when_it_fails(caller, workspace, runtime):
    code, said = follow(runtime, "call", "file.read", '{"path": "none"}', "--caller", "robo", "--workspace", "ws")
    assert code == 1
    assert said.splitlines()[-1].startswith("error     ")


@pytest.mark.parametrize(
    ("capability", "given", "caller_name"),
    [
        ("no.such", "{}", "robo"), ("tests.echo", "{", "robo"), ("tests.echo", "{}", "robo"),
        ("tests.echo", '{"value": NaN}', "robo"), ("tests.echo", '{"value": 1, "value": 2}', "robo"),
        ("tests.echo", '{"value": 1}', "owen"),
    ],
)  # fmt: skip
def test_what_the_api_refuses_is_usage(caller, capability, given, caller_name):
    code, _ = run("call", capability, given, "--caller", caller_name)
    assert (code, Execution.objects.count()) == (2, 0)
