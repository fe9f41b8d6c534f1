"""Everyday code of agents runs; what does not is named here, with the reason."""

import json
from pathlib import Path

import pytest

from tests.unit.sandbox.driving import OLD, run

SNIPPETS = json.loads((Path(__file__).parents[1] / "data" / "agent-snippets.json").read_text())
# No timers, no Intl, no types, no modules, no collection hooks: by design.
WITHOUT = {
    "toLocaleString currency": "RESULT",
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
VALUES = {
    "URL": "1",
    "TextEncoder": 2,
    "btoa": "aGk=",
    "crypto.randomUUID": 36,
    "Object.groupBy": {"o": [1, 3], "e": [2]},
    "toFixed rounding": "1.00|0.30000000000000004|1e+21|123.5|5e-324",
    "Date parse ms offset": "2024-05-06T05:08:09.123Z",
    "ToolError instanceof": ["ToolError", "TOOL_FAILED", True, True, "it failed"],
    "require": "undefined",
    "regex u prop": True,
}


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[snippet["name"] for snippet in SNIPPETS])
def test_runs(zygote, snippet):
    done = run(zygote, snippet["body"])
    name = snippet["name"]
    if WITHOUT.get(name, "RESULT") != "RESULT":
        assert done.code == WITHOUT[name]
    else:
        assert done.code == "OK", done.end
        assert VALUES.get(name, done.end.value) == done.end.value


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
