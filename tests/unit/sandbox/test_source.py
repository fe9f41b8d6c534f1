"""Source is one function body: nothing escapes it, and lines are the user's."""

import pytest

from executions.sandbox import Fatal
from tests.unit.sandbox.driving import run

ESCAPES = [
    "}); globalThis.pwn=1; (async function(){ return 3",
    "}); code; (async function(){",
    "}, text('pwn'), async function(){ return 3",
    "} text('pwn'); async function other(){",
    "}} text('pwn'); { async function f(){",
    "}} finally {} text('pwn'); try { async function f(){",
    "}} catch {} text('pwn'); try { async function f(){",
    "}}), text('pwn'), (function(){ {async function f(){",
    "}} + text('pwn') + function(){{",
    "}}finally{}\n}); text('pwn'); (function(){try{async function f(){",
    "} return text('pwn'); async function g(){",
    "/*",
    "return 1 //\n}",
    "`",
    "return `${",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_no_text_escapes_the_function(zygote, source):
    done = run(zygote, source)
    assert (done.code, done.output) == ("SCRIPT_SYNTAX", [])


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("const a = 1;\nconst b: number = 2;\nreturn a", 2),
        ("return 1 +", 1),
        ("const x = 1;\nconst x = 2;", 2),
        ("if (true) {", 1),
        ("let a\nfor(;;)", 2),
        ("let a=1 --> 0\nreturn a", 1),
    ],
)
def test_a_syntax_error_and_its_line(zygote, source, line):
    end = run(zygote, source).end
    assert isinstance(end, Fatal)
    assert (end.code, end.message.startswith("SyntaxError: ")) == ("SCRIPT_SYNTAX", True)
    assert end.line == line


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("throw new Error('x')", 1),
        ("\n\nnull.x", 3),
        ("const f = () => {\n  throw new TypeError('in f')\n}\nf()", 2),
        ("await sleep(1)\nawait tools.call('t')\nthrow new Error('late')", 3),
        ("\ntools.call(5).x.y", 2),
        ("\nawait tools.call('fail')", None),
        ("throw 'text'", None),
        ("throw {stack: 'at <input>:2007:3'}", None),
    ],
)
def test_the_line_of_an_error_is_the_users(zygote, source, line):
    end = run(zygote, source).end
    assert isinstance(end, Fatal)
    assert (end.code, end.line) == ("SCRIPT_RUNTIME", line)


@pytest.mark.parametrize(
    "source",
    [
        "'use strict'; return this === undefined || true",
        "const input = 1, tools = 2; return true",
        "return true // trailing comment",
        "return true /* closed */",
        "function f(x){return x+1}\nawait f(1);\nreturn true",
        "for await (const x of [1]) {} return true",
        "return `}}finally{}` === '}}' + 'finally{}'",
        "const r = /}/; return r.test('}')",
        "return (function(){ return arguments.length === 1 })(0)",
        "var script; { function script2(){} } return true",
        "#!nope".replace("#!nope", "return true"),
    ],
)
def test_ordinary_bodies_run(zygote, source):
    assert run(zygote, source).value is True


def test_what_is_wrong_only_when_resolved_is_still_syntax(zygote):
    assert run(zygote, "class A { m() { return this.#nope } }").code == "SCRIPT_SYNTAX"
    assert run(zygote, "break").code == "SCRIPT_SYNTAX"
