"""Public bug reports about sandboxes and JSON bridges: the case's number, a script, the code it must end with."""

import ast
from pathlib import Path

import pytest

from executions.sandbox import NO_VALUE, Limits, refuse_result
from forge_project.kernel.errors import Invalid
from tests.unit.sandbox.driving import OLD, run

TESTS = Path(__file__).parents[1]
OK = "OK"
# case: (script, code, value or None where it does not matter)
SCRIPTS = {
    "C001 a tool's failure": ("await tools.call('fail')", "SCRIPT_RUNTIME", None),
    "C003 an endless loop after a call": ("await tools.call('t', 1); for(;;);", "CPU_LIMIT", None),
    "C004 an interrupt caught in a promise": (
        "for(;;) { try { await (async () => { await 0; for(;;); })() } catch {} }",
        "CPU_LIMIT",
        None,
    ),
    "C005 a loop in a promise's executor": ("new Promise(() => { (async () => { for(;;); })() })", "CPU_LIMIT", None),
    "C007 a loop left behind": ("(async () => { for(;;) await 0 })(); return 1", "CPU_LIMIT", None),
    "C007 a promise left behind": ("(async () => { await new Promise(() => {}) })(); return 1", OK, 1),
    "C009 nobody awaits the error": ("(async () => { throw new Error('lost') })(); return 1", OK, 1),
    "C010 a floating rejection": ("Promise.reject(new Error('lost')); return 1", OK, 1),
    "C011 a call nobody awaits": ("tools.call('t', 1)", OK, NO_VALUE),
    "C013 a rejection nobody catches": ("await tools.call('t'); await tools.call('fail')", "SCRIPT_RUNTIME", None),
    "C016 100,000 brackets": ("[" * 100_000, "SCRIPT_SYNTAX STACK_LIMIT", None),
    "C017 async recursion": (
        "async function f() { await f() } await f()",
        "STACK_LIMIT MEMORY_LIMIT SCRIPT_RUNTIME" if OLD else "STACK_LIMIT",
        None,
    ),
    "C019 a huge BigInt": ("return String(2n ** (2n ** 30n)).length", "SCRIPT_RUNTIME MEMORY_LIMIT CPU_LIMIT", None),
    "C020 memory without end": ("const a = []; for(;;) a.push(new Array(1000).fill(1))", "MEMORY_LIMIT", None),
    "C021 memory caught without end": (
        "for(;;) { try { const a = []; for(;;) a.push(new Array(1000).fill(1)) } catch {} }",
        "CPU_LIMIT ISOLATE_FAILURE" if OLD else "CPU_LIMIT",  # 1.19.4 may die of it: that guest only
        None,
    ),
    "C022 backtracking": ("/^(a+)+$/.test('a'.repeat(30) + 'b')", "CPU_LIMIT", None),
    "C024 a native loop": ("[].indexOf.call({length: 2 ** 53 - 1}, 1)", "CPU_LIMIT", None),
    "C027 the Function constructor by a computed name": (
        "const k = `con${'structor'}`; return [][`filter`][k]('return typeof process + typeof require + typeof os')()",
        OK,
        "undefinedundefinedundefined",
    ),
    "C028 every global is the guest's own": (
        """
        const seen = new Set(), own = Function, odd = [];
        const walk = (value, path) => {
          if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
          seen.add(value);
          if (typeof value === "function" && value !== own.prototype && !(value instanceof own)) odd.push(path);
          walk(Object.getPrototypeOf(value), path + ".__proto__");
          for (const key of Reflect.ownKeys(value)) {
            const slot = Object.getOwnPropertyDescriptor(value, key);
            for (const part of ["value", "get", "set"]) walk(slot[part], path + "." + String(key));
          }
        };
        walk(globalThis, "globalThis");
        return [odd, seen.size > 500, typeof globalThis.__prelude__, typeof os, typeof std];
        """,
        OK,
        [[], True, "undefined", "undefined", "undefined"],
    ),
    "C031 pollution of one run": ("Object.prototype.evil = 1; return ({}).evil", OK, 1),
    "C031 is gone in the next": ("return typeof ({}).evil", OK, "undefined"),
    "C035 there is no environment": ("return [typeof process, typeof std, typeof getenv]", OK, ["undefined"] * 3),
    "C038 a 19-digit id": (
        "await tools.call('t', {id: 2512292042121000001}).catch((e) => { throw e })",
        "SCRIPT_RUNTIME",
        None,
    ),
    "C038 as text": ("return (await tools.call('t', {id: '2512292042121000001'})).id", OK, "2512292042121000001"),
    "C041 one NaN": ("return {a: 1, b: 0 / 0, c: -1 / 0}", OK, {"a": 1, "b": None, "c": None}),
    "C043 U+0000 in text": ("return await tools.call('t', 'a\\0b')", OK, "a\0b"),
    "C046 a lone surrogate": ("return '\\ud800'", "RESULT_INVALID", None),
    "C048 a lone surrogate as a key": ("return {['\\udfff']: 1}", "RESULT_INVALID", None),
    "C050 as deep as allowed": ("let a = 1; for (let i = 0; i < 200; i++) a = [a]; return a", OK, None),
    "C050 one deeper": ("let a = 1; for (let i = 0; i < 201; i++) a = [a]; return a", "RESULT_INVALID", None),
}
# The other sandbox and json rows: where their test stands.
ELSEWHERE = {
    "C008": "unit/sandbox/test_outward.py::test_a_result_that_is_no_json_is_refused_before_it_crosses",
    "C014": "db/executions/test_single.py",
    "C026": "unit/sandbox/test_zygote.py::test_fifty_scripts_from_eight_threads",
    "C033": "hostile/test_scripts.py::test_nothing_that_crosses_is_changed",
    "C037": "unit/sandbox/test_frames.py",
    "C039": "db/api/test_bodies.py::test_malformed",
    "C040": "db/api/test_bodies.py::test_malformed",
    "C042": "hostile/test_cases.py::test_a_tools_odd_result_is_refused_with_its_path",
    "C045": "hostile/test_cases.py::test_a_path_with_nul_reaches_the_host_whole",
    "C049": "db/api/test_bodies.py::test_malformed",
    "C051": "db/api/test_bodies.py::test_malformed",
    "C052": "db/api/test_bodies.py::test_malformed",
    "C054": "unit/kernel/test_canonical.py",
    "C058": "db/api/test_list.py",
}
ROWS = (
    "C001 C003 C004 C005 C007 C008 C009 C010 C011 C013 C014 C016 C017 C019 C020 C021 C022 C024 C026 C027 C028 C031 "
    "C033 C035 C037 C038 C039 C040 C041 C042 C043 C045 C046 C048 C049 C050 C051 C052 C054 C058"
)


@pytest.mark.parametrize("case", SCRIPTS)
def test_ends_as_it_must(zygote, case):
    source, code, value = SCRIPTS[case]
    done = run(zygote, source, cpu_ms=400, seconds=4, memory_bytes=16 << 20)
    assert done.code in code.split(), done.end
    assert done.reaped
    assert done.seconds < 4.5
    if value is not None:
        assert done.end.value == value
    if case.startswith(("C009", "C010")):
        assert done.log == [("warn", "unhandled rejection: Error: lost")]
    if case.startswith("C011"):
        assert (len(done.calls), done.end.unawaited) == (1, (1,))
    if case.startswith("C003"):
        assert len(done.calls) == 1
    assert run(zygote, "return 1").value == 1


def test_no_row_is_left_out():
    assert {case.split()[0] for case in SCRIPTS} | ELSEWHERE.keys() == set(ROWS.split())
    for place in ELSEWHERE.values():
        file, _, name = place.partition("::")
        tree = ast.parse((TESTS / file).read_text())
        assert not name or name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, place


@pytest.mark.parametrize(
    ("value", "path"),
    [({"a": [1, float("nan")]}, "/a/1"), ({"a": float("inf")}, "/a"), ({"b": "\ud800"}, "/b"), ([2**53], "/0")],
)
def test_a_tools_odd_result_is_refused_with_its_path(value, path):
    with pytest.raises(Invalid) as caught:
        refuse_result(value, Limits())
    assert caught.value.facts["path"] == path


def test_a_path_with_nul_reaches_the_host_whole(zygote):
    done = run(zygote, "await tools.call('t', {path: 'allowed.txt\\0/../secret'})")
    assert done.calls[0].input == {"path": "allowed.txt\0/../secret"}
