"""TypeScript declarations: each schema's type, the tree of tools, and what a compiler says of the whole."""

import shutil
import subprocess

import pytest

from executions.capabilities.registry import load
from executions.services.typings import camel, declarations, typed

OBJECT = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"const": "x"}, '"x"'),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array"}, "unknown[]"),
        (OBJECT, "Record<string, never>"),
        ({"type": "object"}, "{\n  [key: string]: unknown;\n}"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "{\n  [key: string]: number;\n}"),
        (
            OBJECT | {"properties": {"a": {"type": "string", "description": "A */ x"}, "b-c": {}}, "required": ["a"]},
            '{\n  /** A * / x */\n  a: string;\n  "b-c"?: unknown;\n}',
        ),
        (True, "unknown"),
        ({"$ref": "#/x"}, "unknown"),
    ],
)
def test_a_schemas_type(schema, told):
    assert typed(schema) == told


def entry(name, **more):
    return {"name": name, "summary": "S", "effect": "read", "decision": "ALLOW", "input_schema": OBJECT} | {
        "result_schema": {"type": "null"}, **more
    }  # fmt: skip


def test_dashes_dots_and_a_name_that_is_a_branch_too():
    told = declarations([entry("a.b-c.d"), entry("a.b-c", decision="REVIEW"), entry("call.me")])
    assert "  readonly a: {\n    /** S (read: waits for a person) */\n    readonly bC: ((input: " in told
    assert "& {\n      /** S (read) */\n      readonly d: (input: Capabilities[\"a.b-c.d\"]['input']" in told
    assert "readonly call" not in told
    assert camel("patch-proposal") == "patchProposal"


def whole():
    rows = [
        entry(c.name, summary=c.summary, input_schema=c.input_schema, result_schema=c.result_schema)
        for c in load(()).all()
    ]
    return declarations(rows)


def test_every_bracket_is_closed():
    told = whole()
    for opening, closing in ("{}", "()", "[]"):
        assert told.count(opening) == told.count(closing)


PROGRAM = """
async function script() {
  const found = await tools.file.read({path: 'a'});
  const same = await tools.call('file.read', {path: 'a'}, {purpose: 'why'});
  const size: number = found.bytes + same.bytes;
  text(found.content.length + size);
  const patch = await tools.artifact.patchProposal.materialize({diff: 'x'});
  return [patch.artifact_ref, (await catalog.search('x', {limit: 2})).map((one) => one.name)];
}
"""
WRONG = [
    "tools.file.read({path: 1})",
    "tools.file.read({})",
    "tools.file.none({})",
    "tools.call('no.such', {})",
    "setTimeout(() => 1, 1)",
]


@pytest.mark.skipif(not shutil.which("tsc"), reason="no TypeScript compiler on PATH")
def test_a_compiler_takes_what_is_right_and_refuses_what_is_wrong(tmp_path):
    (tmp_path / "types.d.ts").write_text(whole())
    (tmp_path / "right.ts").write_text(PROGRAM)
    strict = ["tsc", "--noEmit", "--strict", "--target", "es2022", "--lib", "es2023", "--types", "", "types.d.ts"]
    assert subprocess.run([*strict, "right.ts"], cwd=tmp_path, capture_output=True, text=True).stdout == ""
    (tmp_path / "wrong.ts").write_text("".join(f"void {line};\n" for line in WRONG))
    said = subprocess.run([*strict, "wrong.ts"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert {int(line.split("(")[1].split(",")[0]) for line in said.splitlines() if line.startswith("wrong")} == {
        *range(1, len(WRONG) + 1)
    }
