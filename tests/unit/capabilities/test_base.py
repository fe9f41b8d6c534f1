"""Declarations, input checks and the registry."""

import subprocess
import sys
from pathlib import Path

import pytest

from executions.capabilities import registry
from executions.capabilities.base import Capability, Effect, NotApplied, Recovery, Risk, closed_object, validate_input
from executions.capabilities.declarations import DeclarationError
from executions.capabilities.files import FileRead
from executions.capabilities.search import FileSearchText
from executions.capabilities.values import Request, Workspace
from executions.capabilities.write import FileWrite
from forge_project.kernel.errors import Invalid, Missing

GOOD = {
    "name": "x.do", "summary": "does", "effect": Effect.WRITE, "risk": Risk.LOW, "recovery_mode": Recovery.RECONCILE,
    "input_schema": closed_object(), "result_schema": closed_object(),
    "observe": lambda self, request: {}, "execute": lambda self, request, effect: None,
    "describe": lambda self, request, seen: None, "reconcile": lambda self, request, seen: NotApplied(),
}  # fmt: skip


def declare(**changes):
    body = {key: value for key, value in (GOOD | changes).items() if value is not None}
    return type("Made", (Capability,), body | {"__module__": __name__})


def test_a_full_declaration_is_accepted():
    assert declare().name == "x.do"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": None}, "declares no name"),
        ({"risk": None}, "declares no risk"),
        ({"summary": "two\nlines"}, "one line"),
        ({"name": "X do"}, "words joined by dots"),
        ({"effect": "write"}, "effect must be a Effect"),
        ({"observe": None}, "implements no observe"),
        ({"execute": None}, "implements no execute"),
        ({"describe": None}, "implements no describe"),
        ({"reconcile": None}, "needs its own reconcile"),
        ({"reconcile": None, "recovery_mode": Recovery.REATTACH}, "needs its own reconcile"),
        ({"recovery_mode": Recovery.REPLAY_SAFE}, "cannot be recovered as replay_safe"),
        ({"effect": Effect.READ}, "cannot be recovered as reconcile"),
        ({"effect": Effect.INTERNAL}, "cannot be recovered as reconcile"),
        ({"effect": Effect.EXTERNAL, "recovery_mode": Recovery.REPLAY_SAFE}, "cannot be recovered"),
        ({"input_schema": {"type": "object"}}, "must be a closed object"),
        ({"input_schema": closed_object(a={"type": "object"})}, "input_schema/properties/a is open"),
        ({"input_schema": closed_object(a={"type": "nonsense"})}, "is not a JSON Schema"),
        ({"input_schema": closed_object(a={"$ref": "http://x/y"})}, "$ref is open"),
        ({"result_schema": closed_object(a={"items": {"type": ["object", "null"]}})}, "is open"),
        ({"timeout_ms": 0}, "positive"),
    ],
)
def test_a_missing_or_contradictory_declaration_fails_when_the_class_is_made(changes, says):
    with pytest.raises(DeclarationError) as fault:
        declare(**changes)
    assert says in str(fault.value)


@pytest.mark.parametrize(
    ("capability", "value", "path", "rule"),
    [
        (FileRead, {}, "/path", "schema.required"),
        (FileRead, [], "", "schema.type"),
        (FileRead, {"path": "a", "x/y~": 1}, "/x~1y~0", "schema.additionalProperties"),
        (FileRead, {"path": 1}, "/path", "schema.type"),
        (FileRead, {"path": "a", "offset": True}, "/offset", "schema.type"),
        (FileRead, {"path": "a", "offset": 1.0}, "/offset", "schema.type"),
        (FileRead, {"path": "a", "offset": -1}, "/offset", "schema.minimum"),
        (FileRead, {"path": "../a"}, "/path", "path.parent"),
        (FileRead, {"path": "/etc/passwd"}, "/path", "path.absolute"),
        (FileRead, {"path": "a\0b"}, "/path", "path.nul"),
        (FileSearchText, {"query": "q", "paths": ["ok", "a/../b"]}, "/paths/1", "path.parent"),
        (FileSearchText, {"query": "a\nb"}, "/query", "schema.pattern"),
        (FileWrite, {"path": "a", "content": "x", "expected_hash": "A" * 64}, "/expected_hash", "schema.anyOf"),
    ],
)
def test_an_input_fault_has_a_pointer_and_a_rule(capability, value, path, rule):
    with pytest.raises(Invalid) as fault:
        validate_input(capability, value)
    assert (fault.value.facts["path"], fault.value.facts["rule"]) == (path, rule)


def test_a_fault_does_not_quote_the_value():
    with pytest.raises(Invalid) as fault:
        validate_input(FileWrite, {"path": "a", "content": ["secret"]})
    assert "secret" not in str(fault.value)


def test_the_built_ins_are_there_and_others_come_by_module_name():
    known = registry.load(["tests.unit.capabilities.extra"])
    names = [capability.name for capability in known.all()]
    assert names == sorted(names)
    assert {"file.read", "file.list", "file.searchText", "file.write", "patch.apply", "test.echo"} <= set(names)
    assert "artifact.patch-proposal.materialize" in names
    assert known.get("file.read").name == "file.read"
    with pytest.raises(Missing) as fault:
        known.get("file.none")
    assert fault.value.code == "TOOL_NOT_FOUND"


def test_loading_a_module_twice_is_fine_and_two_classes_of_one_name_are_not():
    known = registry.load(["tests.unit.capabilities.extra", "tests.unit.capabilities.extra"])
    with pytest.raises(registry.DuplicateName):
        known.add(declare(name="test.echo")())


def test_no_django_and_no_settings_are_needed():
    code = (
        "import sys; from executions.capabilities import registry; registry.load(); sys.exit('django' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env={}, cwd=Path(__file__).parents[3]).returncode == 0


@pytest.mark.parametrize("root", ["", "relative", "/"])
def test_c072_a_workspace_without_a_real_root_cannot_be_made(root, tmp_path):
    with pytest.raises(ValueError, match="absolute"):
        Workspace(name="w", root=tmp_path.__class__(root))


def test_an_operation_id_cannot_leave_its_file_name():
    with pytest.raises(ValueError, match="operation id"):
        Request(input={}, operation_id="../x", caller_ref="u", workspace=None, scopes={}, artifacts=None)
