"""Everyday code of agents runs; what does not is named here, with the reason."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from executions.sandbox import NO_VALUE
from tests.unit.sandbox.driving import OLD, run

DATA = Path(__file__).parents[1] / "data"
SNIPPETS = json.loads((DATA / "agent-snippets.json").read_text())
# No timers, no Intl, no types, no modules, no collection hooks: by design.
WITHOUT = {
    "Intl.NumberFormat": "SCRIPT_RUNTIME",
    "Intl.DateTimeFormat": "SCRIPT_RUNTIME",
    "setTimeout sleep": "SCRIPT_RUNTIME",
    "import()": "SCRIPT_RUNTIME",
    "TypeScript types": "SCRIPT_SYNTAX",
    "TS as": "SCRIPT_SYNTAX",
    "HTML comment": "SCRIPT_SYNTAX",
    "WeakRef": "SCRIPT_RUNTIME",
}
if OLD:  # what came after 2021 and can't be added by a prelude
    WITHOUT |= {
        "Iterator helpers": "SCRIPT_RUNTIME",
        "static block": "SCRIPT_SYNTAX",
        "#x in obj": "SCRIPT_SYNTAX",
        "class field named get": "SCRIPT_SYNTAX",
    }
# What is left of Intl without Intl: numbers in plain digits, and text in the order of its code points.
OWN = {"toLocaleString num": "1234567.5", "toLocaleString currency": "5", "localeCompare sort": "abä"}
if OLD:
    OWN["Date parse loose"] = None  # Invalid Date
V8 = json.loads((DATA / "agent-snippets-v8.json").read_text())


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[snippet["name"] for snippet in SNIPPETS])
def test_gives_the_answer_v8_gives(zygote, snippet):
    done = run(zygote, snippet["body"])
    name = snippet["name"]
    if name in WITHOUT:
        assert done.code == WITHOUT[name]
    else:
        assert done.code == "OK", done.end
        value = None if done.end.value is NO_VALUE else done.end.value
        assert value == OWN.get(name, V8[name])


def test_what_is_not_there_stands_in_the_readme():
    told = (DATA.parents[1] / "README.md").read_text()
    for word in ("timers", "Intl", "localeCompare", "import", "TypeScript", "WeakRef", "HTML comment"):
        assert word in told


@pytest.mark.skipif(not shutil.which("node"), reason="no node on PATH")
def test_the_stored_answers_are_v8s():
    command = ["node", str(Path(__file__).with_name("v8.mjs"))]
    env = {"PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "en_US.UTF-8"}
    said = subprocess.run(command, input=json.dumps(SNIPPETS), capture_output=True, text=True, check=True, env=env)
    live = json.loads(said.stdout)
    assert len(live) > 45
    assert {name: V8[name] for name in live} == live


def test_polyfills(zygote):
    source = r"""
    const u = new URL("../x?b=2&b=3#h", "https://me:pw@A.b:443/c/d/e?f=1");
    const q = new URLSearchParams("a=1&b=2&b=3&c=%20+x");
    q.append("d", "é&"); q.delete("a");
    const bytes = new TextEncoder().encode("hé€😀");
    const clone = structuredClone({d: new Date(5), m: new Map([[1, {a: 1}]]), s: new Set([1]), a: [1, [2]]});
    const cyc = {}; cyc.me = cyc;
    return [u.href, u.searchParams.getAll("b"), u.origin, q.toString(), q.get("c"), [...bytes].length,
      new TextDecoder().decode(bytes), new TextDecoder().decode(new Uint8Array([0x68, 0xff, 0xc3])),
      atob(btoa("a\xff\x00b")) === "a\xff\x00b",
      clone.d.getTime(), clone.m.get(1), [...clone.s], clone.a, structuredClone(cyc).me !== cyc,
      URL.canParse("nope"), new URL("mailto:a@b").pathname, [..."ab"].map((c) => c.codePointAt(0))]
    """
    assert run(zygote, source).value == [
        "https://me:pw@a.b/c/x?b=2&b=3#h", ["2", "3"], "https://a.b", "b=2&b=3&c=++x&d=%C3%A9%26", "  x", 10,
        "hé€😀", "h\ufffd\ufffd", True, 5, {"a": 1}, [1], [1, [2]], True, False, "a@b", [97, 98],
    ]  # fmt: skip
