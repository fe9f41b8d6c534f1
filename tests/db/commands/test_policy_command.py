"""`policy test FILE`: what policy would say of example requests."""

import json

import pytest

from approvals.services.rules import SaveRule, save_rule
from tests.db.commands import run

pytestmark = pytest.mark.django_db
WRITE = {"capability": "file.write", "input": {"path": "secrets/x", "content": ""}}


@pytest.fixture
def file(tmp_path):
    def write(examples):
        path = tmp_path / "examples.json"
        path.write_text(examples if isinstance(examples, str) else json.dumps(examples))
        return str(path)

    return write


def test_examples_are_judged(file, caller, approver):
    says = {"condition": 'target.path.startsWith("secrets/")', "caller": "robo"}
    save_rule(SaveRule(name="secrets", capability="file.*", decision="DENY", author=approver, **says))
    code, said = run("policy", "test", file([WRITE | {"caller": "robo", "expect": "DENY", "rule": "secrets"}, WRITE]))
    assert (code, said.splitlines()) == (
        0,
        ["ok   DENY by secrets v1: robo, file.write", "ok   REVIEW by default v1: anybody, file.write"],
    )


def test_one_that_is_not_as_expected_ends_with_1(file):
    assert run("policy", "test", file([WRITE | {"expect": "ALLOW"}])) == (1, "1 of 1 are not as expected")


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        ("[", "not JSON"),
        ({}, "a list of at most 500"),
        ([WRITE | {"colour": 1}], "example 0: an example has no colour"),
        ([WRITE | {"workspace": "nowhere"}], "example 0: no such workspace"),
        ([{"capability": "file.write", "input": {"path": "../x", "content": ""}}], "example 0: a path"),
    ],
)
def test_a_bad_file_ends_with_2(file, examples, said):
    code, told = run("policy", "test", file(examples))
    assert (code, said in told) == (2, True), told
    assert run("policy", "test", "no/such/file")[0] == 2
