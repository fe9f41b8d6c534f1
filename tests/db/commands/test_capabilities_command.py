"""`capabilities [NAME]`: the catalog."""

import json

from executions.services import catalog
from tests.db.commands import run


def test_the_list_has_every_capability():
    code, said = run("capabilities")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [one.name for one in catalog.registry().all()]
    assert [one["name"] for one in json.loads(run("capabilities", "--json")[1])] == [
        one.name for one in catalog.registry().all()
    ]


def test_one_has_its_schemas():
    told = json.loads(run("capabilities", "patch.apply", "--json")[1])
    assert (told["effect"], told["recovery_mode"]) == ("write", "reconcile")
    assert told["input_schema"]["required"] == ["artifact_ref"]
    assert "recovery_mode: reconcile" in run("capabilities", "patch.apply")[1]


def test_an_unknown_one_is_refused():
    assert run("capabilities", "no.such") == (2, "no such capability: no.such")
