"""What a script can do, in real guests."""

import time

import pytest

from executions.sandbox import NO_VALUE, Complete, Limits, Progress, Settled, Turn
from forge_project.kernel.errors import Invalid
from tests.unit.sandbox.driving import KNOWN, NOW, run, start


def test_a_value_comes_back(zygote):
    done = run(zygote, "return {a: [1, 'é\\u0000', null], b: input.x}", input={"x": 2.5})
    assert done.value == {"a": [1, "é\x00", None], "b": 2.5}
    assert done.reaped


def test_no_value_is_not_null(zygote):
    assert run(zygote, "").value is NO_VALUE
    assert run(zygote, "return null").value is None


def test_json_rules_of_the_way_out(zygote):
    source = "return {nan: NaN, inf: -Infinity, date: new Date(0), gone: undefined, f(){}, list: [undefined]}"
    assert run(zygote, source).value == {"nan": None, "inf": None, "date": "1970-01-01T00:00:00.000Z", "list": [None]}


@pytest.mark.parametrize(
    "source",
    [
        "return 5n",
        "let a={};a.a=a;return a",
        "return ()=>1",
        "return Symbol('x')",
        "return '\\ud800'",
        "return {'\\udc00': 1}",
        "return {'\\0': 1}",
        "return {x: 'y'.repeat(500), z: [{'a\\0': 1}]}",
        "return 2**53",
        "return [[1e20]]",
        "let a=[];for(let i=0;i<200;i++)a=[a];return a",
        "let a=[];for(let i=0;i<100000;i++)a=[a];return a",
        "return {get x(){throw 1}}",
    ],
)
def test_a_result_that_is_no_json(zygote, source):
    assert run(zygote, source).code == "RESULT_INVALID"


def test_depth_200_is_the_last_that_passes(zygote):
    assert run(zygote, "let a=[];for(let i=0;i<199;i++)a=[a];return a").code == "OK"


def test_safe_integers_and_long_text_of_digits_pass(zygote):
    assert run(zygote, "return [2**53-1, -(2**53-1), '12345678901234567890', 0.1+0.2, 1e21]").value == [
        2**53 - 1,
        -(2**53 - 1),
        "12345678901234567890",
        0.1 + 0.2,
        1e21,
    ]


def test_a_backslash_before_ud800_is_not_a_surrogate(zygote):
    assert run(zygote, r"return 'C:\\ud800\\x'").value == r"C:\ud800\x"


def test_a_call_its_purpose_and_its_result(zygote):
    done = run(zygote, "return await tools.call('file.read', {path: 'a'}, {purpose: 'to see'})")
    (call,) = done.calls
    assert (call.n, call.tool, call.input, call.purpose) == (1, "file.read", {"path": "a"}, "to see")
    assert done.value == {"path": "a"}


def test_sugar_from_the_catalog(zygote):
    source = "return [await tools.file.read({p:1}), await tools.artifact.patchProposal.materialize(), tools.net]"
    done = run(zygote, source, catalog=["file.read", "artifact.patch-proposal.materialize"])
    assert [call.tool for call in done.calls] == ["file.read", "artifact.patch-proposal.materialize"]
    assert done.value == [{"p": 1}, None, None]


def test_undefined_input_is_null(zygote):
    assert run(zygote, "return await tools.call('x')").calls[0].input is None


def test_a_failed_call_rejects_with_a_tool_error(zygote):
    source = """
    try { await tools.call('fail', {}) }
    catch (e) { return [e instanceof ToolError, e instanceof Error, e.name, e.code, e.message, e.retryable, e.details] }
    """
    assert run(zygote, source).value == [True, True, "ToolError", "TOOL_FAILED", "it failed", True, {"why": "test"}]


def test_an_uncaught_tool_error_names_itself(zygote):
    end = run(zygote, "await tools.call('fail', {})").end
    assert (end.code, end.message) == ("SCRIPT_RUNTIME", "ToolError TOOL_FAILED: it failed")


@pytest.mark.parametrize(
    "value", ["5n", "'\\ud800'", "2**60", "{'\\0': 1}", "()=>1", "(()=>{let a={};a.a=a;return a})()"]
)
def test_an_input_that_is_no_json_rejects_and_is_not_sent(zygote, value):
    done = run(zygote, f"try {{ await tools.call('x', {value}) }} catch (e) {{ return e.code }}")
    assert (done.value, done.calls) == ("TOOL_INPUT_INVALID", [])


def test_credits_are_first_in_first_out(zygote):
    source = "return await Promise.all(Array.from({length: 10}, (_, i) => tools.call('t', i)))"
    done = run(zygote, source, in_flight=4)
    assert [[call.n for call in turn.calls] for turn in done.turns] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert done.value == list(range(10))


def test_the_call_over_the_budget_rejects_and_can_be_caught(zygote):
    source = """
    await tools.call('t', 1); await sleep(5);
    try { await tools.call('t', 3) } catch (e) { return [e.name, e.code, e.retryable] }
    """
    assert run(zygote, source, max_calls=2).value == ["ToolError", "CALL_LIMIT", False]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("await tools.call('t', 1); await tools.call('t', 2)", "CALL_LIMIT"),
        ("await tools.call('t', 'x'.repeat(2000))", "INPUT_LIMIT"),
        ("text('x'.repeat(2000))", "OUTPUT_LIMIT"),
        ("for (let i = 0; i < 200; i++) text('é')", "OUTPUT_LIMIT"),
        ("state.set('k', 'x'.repeat(2000))", "STATE_LIMIT"),
        ("for (let i = 0; i < 200; i++) state.set('k' + i, i)", "STATE_LIMIT"),
        ("return 'x'.repeat(2000)", "RESULT_LIMIT"),
    ],
)
def test_each_limit_has_its_code(zygote, source, code):
    limits = {"max_calls": 1} | dict.fromkeys(("input_bytes", "output_bytes", "state_bytes", "result_bytes"), 1000)
    assert run(zygote, source, **limits).code == code


def test_a_limit_can_be_caught(zygote):
    source = "try { text('x'.repeat(2000)) } catch (e) { text('short'); return e.code }"
    done = run(zygote, source, output_bytes=1000)
    assert (done.value, done.output) == ("OUTPUT_LIMIT", ["short"])


def test_bytes_are_counted_as_javascript_writes_them(zygote):
    # Python would write each of these numbers and DELs longer or shorter than JavaScript does
    source = "return await tools.call('t', [1e-7, 0.00001, 5e-324, '\\x7f'.repeat(50), 'é'])"
    size = len('[1e-7,0.00001,5e-324,"' + "\x7f" * 50 + '","\\u00e9"]')
    assert run(zygote, source, input_bytes=size).code == "OK"
    assert run(zygote, source, input_bytes=size - 1).code == "INPUT_LIMIT"


def test_sleep_has_a_number_of_the_calls(zygote):
    done = run(zygote, "await tools.call('a'); const t = Date.now(); await sleep(1500.7); return Date.now() - t")
    assert [(sleep.n, sleep.ms) for turn in done.turns for sleep in turn.sleep] == [(2, 1500)]
    assert done.value == 1000


def test_state_reads_its_own_writes(zygote):
    source = """
    const was = state.get('a'); state.set('b', {x: [1]}); state.get('b').x.push(2);
    state.set('tmp', 1); state.delete('tmp'); state.delete('a');
    return [was, state.get('b'), state.get('tmp') === undefined, state.get('a') === undefined]
    """
    done = run(zygote, source, state={"a": {"deep": "é"}})
    assert done.value == [{"deep": "é"}, {"x": [1]}, True, True]
    assert done.state == {"a": None, "b": {"x": [1]}}


def test_output_log_and_progress(zygote):
    source = """
    text('one'); text({two: 2}); text(3);
    console.log('a', {b: 1}, [2], null, undefined); console.error(new TypeError('bad'));
    progress('half', {completed: 1, total: 2}); progress('done', {completed: 2, total: 2});
    """
    done = run(zygote, source)
    assert done.output == ["one", '{"two":2}', "3"]
    assert done.log == [("log", 'a {"b":1} [2] null undefined'), ("error", "TypeError: bad")]
    assert done.turns[0].progress == Progress("done", 2, 2)


def test_the_log_ends_at_64_kib_and_says_so(zygote):
    done = run(zygote, "for (let i = 0; i < 2000; i++) console.log('x'.repeat(100)); return 1")
    assert done.value == 1
    assert done.log[-1] == ("log", "[the log is full]")
    assert len(done.log) < 700


@pytest.mark.parametrize(
    "source",
    [
        "Promise.reject(new Error('lost'));",
        "(async () => { throw new Error('lost') })();",
        "tools.call('fail', 1); await sleep(1);",
    ],
)
def test_a_floating_rejection_is_told(zygote, source):
    done = run(zygote, source + "return 1")
    assert done.value == 1
    (line,) = done.log
    assert line[0] == "warn"
    assert line[1].startswith("unhandled rejection: ")


def test_a_handled_rejection_is_not_told(zygote):
    source = "const p = tools.call('fail', 1); try { await p } catch {} Promise.reject(1).catch(() => 0); return 1"
    assert run(zygote, source).log == []


def test_unawaited_calls_are_listed(zygote):
    end = run(zygote, "tools.call('a', 1); tools.call('b', 2); return 5").end
    assert end == Complete(5, (1, 2))


def test_the_clock_stands_still_within_a_turn_and_is_the_hosts(zygote):
    source = """
    const t = Date.now(); for (let i = 0; i < 1e5; i++);
    const same = Date.now() === t && performance.now() === t && new Date().getTime() === t;
    await sleep(1);
    const zone = [new Date(2024, 6, 1).toISOString(), new Date().getTimezoneOffset()];
    return [same, t, Date.now(), ...zone, typeof Date(), new Date(5).getTime()]
    """
    assert run(zygote, source).value == [True, NOW, NOW + 1000, "2024-07-01T00:00:00.000Z", 0, "string", 5]


def test_random_is_the_seeds(zygote):
    source = "return [Math.random(), Math.random(), crypto.randomUUID()]"
    first, again, other = (run(zygote, source, seed=seed).value for seed in ("a", "a", "b"))
    assert first == again != other
    assert len({*first, *other}) == 6
    assert all(0 <= number < 1 for number in first[:2])


def test_random_is_spread_evenly(zygote):
    source = (
        "const b = Array(10).fill(0); for (let i = 0; i < 20000; i++) b[Math.floor(Math.random() * 10)]++; return b"
    )
    assert all(1800 < count < 2200 for count in run(zygote, source).value)


def test_what_is_not_there(zygote):
    names = "WeakRef FinalizationRegistry SharedArrayBuffer Atomics setTimeout fetch require process std os print"
    source = f"return {names.split()!r}.filter((name) => name in globalThis)"
    assert run(zygote, source).value == []


def test_import_rejects(zygote):
    assert run(zygote, "try { await import('fs') } catch (e) { return e.name }").value == "ReferenceError"
    assert run(zygote, "import fs from 'fs'").code == "SCRIPT_SYNTAX"


def test_a_result_over_the_frame_is_cut_at_whole_results(zygote):
    big, given, results = "x" * (3 * 1024 * 1024), [], []
    source = "return (await Promise.all([1,2,3].map((i) => tools.call('t', i)))).map((r) => r.length)"
    guest = zygote.spawn(start(source))
    while isinstance(frame := guest.receive(deadline=time.monotonic() + 10), Turn):
        results += [Settled(n=call.n, value=big) for call in frame.calls]
        delivered = guest.settle(results, grant=len(results), now=NOW)
        given.append((delivered.numbers, delivered.grant))
        results = results[len(delivered.numbers) :]
    guest.kill()
    assert given == [((1, 2), 2), ((3,), 1)]
    assert frame.value == [len(big)] * 3


def test_calls_over_the_frame_wait_for_the_next(zygote):
    source = "const b = 'x'.repeat(3145728); return (await Promise.all([1,2,3].map(() => tools.call('t', b)))).length"
    done = run(zygote, source, input_bytes=4 * 1024 * 1024)
    assert [[call.n for call in turn.calls] for turn in done.turns] == [[1, 2], [3]]
    assert done.value == 3


def test_limits_refuse_what_is_out_of_range():
    for name, value in (
        ("cpu_ms", 0),
        ("cpu_ms", True),
        ("in_flight", 65),
        ("memory_bytes", 1 << 40),
        ("max_calls", 1.0),
    ):
        with pytest.raises(Invalid) as caught:
            Limits(**{name: value})
        assert caught.value.facts["path"] == f"/limits/{name}"


def test_the_catalog(zygote):
    source = """
    const found = await catalog.search("file", {limit: 2});
    const one = await catalog.describe("file.read");
    const none = await catalog.describe("no.such").catch((e) => [e instanceof ToolError, e.name, e.code, e.retryable]);
    return [found.map((c) => c.name), one, none, (await catalog.search("zzz")), (await catalog.search()).length]
    """
    names, one, none, empty, every = run(zygote, source).value
    assert names == ["file.list", "file.read"]
    assert one == KNOWN["file.read"]
    assert none == [True, "ToolError", "TOOL_NOT_FOUND", False]
    assert (empty, every) == ([], 3)


def test_catalog_questions_are_counted_and_checked(zygote):
    source = """
    const all = await Promise.allSettled(Array.from({length: 101}, () => catalog.search("file")));
    const bad = [() => catalog.search(5), () => catalog.search("x".repeat(201)), () => catalog.search("x", {limit: 0})];
    const kinds = await Promise.all(bad.map((ask) => ask().catch((e) => e.constructor.name)));
    return [all.filter((one) => one.status === "fulfilled").length, all[100].reason.code, kinds]
    """
    assert run(zygote, source).value == [100, "CALL_LIMIT", ["TypeError"] * 3]


def test_a_catalog_question_nobody_waits_for_holds_nothing_up(zygote):
    done = run(zygote, "catalog.search('x'); return 1")
    assert (done.value, done.end.unawaited) == (1, ())
    assert (
        run(zygote, "await catalog.search('file', {limit: 99}); await new Promise(() => {})").code
        == "UNRESOLVABLE_PROMISE"
    )
