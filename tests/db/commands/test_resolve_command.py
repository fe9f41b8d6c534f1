"""`resolve`: an operator at a terminal ends an unknown effect."""

import getpass
import json

import pytest

from executions.models import Call, Execution
from tests.db.commands import run
from tests.db.executions.conftest import unknown  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)


def said(ref, *more, n="1", observed="applied"):
    words = ["--observed", observed, "--reason", "I looked", "--evidence", "line 7", "--evidence", "line 8"]
    return run("resolve", ref, n, *words, *more)


def test_it_ends_it_and_names_who(unknown):  # noqa: F811
    ref = unknown()
    code, told = said(ref, "--result", '{"line": "x"}', "--json")
    assert (code, json.loads(told)["status"]) == (0, "succeeded")
    assert Call.objects.get().evidence[-1] == {
        "kind": "operator", "actor": f"os:{getpass.getuser()}", "observed": "applied", "reason": "I looked",
        "said": ["line 7", "line 8"],
    }  # fmt: skip
    assert said(ref)[0] == 1  # not unknown any more
    code, story = run("audit", ref)
    assert (code, "call.resolved" in story, "became=applied" in story) == (0, True, True)


@pytest.mark.parametrize(
    ("more", "named"),
    [(["--result", "{"], {}), (["--result", '{"line": 1}'], {}), ([], {"n": "2"}), ([], {"n": str(10**30)}),
     (["--result", "1"], {"observed": "not_applied"})],
)  # fmt: skip
def test_what_is_wrong_with_it_exits_2(unknown, more, named):  # noqa: F811
    ref = unknown()
    assert said(ref, *more, **named)[0] == 2
    assert Execution.objects.get().status == "unknown"


def test_no_such_execution(db):
    assert said("exec_nothing")[0] == 2
