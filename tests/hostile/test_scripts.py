"""The corpus: every script ends in time, classified, and leaves the next guest alone."""

import json
from pathlib import Path

import pytest

from executions.sandbox import Complete, Limits
from tests.unit.sandbox.driving import OLD, run

CORPUS = json.loads((Path(__file__).parents[1] / "data" / "hostile-scripts.json").read_text())
CPU_MS = 400
WALL = 4.0  # seconds; far off, so that a busy machine changes no code, and a hang still shows as TIMEOUT
OK = "OK"
# Where one script must end one way; the rest may end in any of the classified ways below.
MUST = {
    "infinite loop": "CPU_LIMIT",
    "infinite loop catch": "CPU_LIMIT",
    "infinite loop finally": "CPU_LIMIT",
    "loop in generator return": "CPU_LIMIT",
    "huge string repeat": "MEMORY_LIMIT",
    "new Array(4e9).fill": "MEMORY_LIMIT",
    "typedarray big nomem": "MEMORY_LIMIT",
    "deep recursion": "STACK_LIMIT",
    "deep nest linked promise free": "OK MEMORY_LIMIT CPU_LIMIT",
    "deep recursion catch": OK,
    "regex backtrack": "CPU_LIMIT",
    "bigint pow huge nomem": "SCRIPT_RUNTIME",
    "microtask chain infinite": "CPU_LIMIT",
    "async while true await": "CPU_LIMIT",
    "microtask job with loop": "CPU_LIMIT",
    "unhandled rejection": OK,
    "async throws": OK,
    "TOSTRING throw throws": "SCRIPT_RUNTIME",
    "throw symbol": "SCRIPT_RUNTIME",
    "throw null-proto": "SCRIPT_RUNTIME",
    "throw undefined": "SCRIPT_RUNTIME",
    "throw huge msg": "SCRIPT_RUNTIME",
    "throw msg NUL+surrogate": "SCRIPT_RUNTIME",
    "throw fake stack overflow": "SCRIPT_RUNTIME",
    "throw %s fmt": "SCRIPT_RUNTIME",
    "interrupted with poisoned Error proto": "CPU_LIMIT",
    "OOM poisoned": "MEMORY_LIMIT CPU_LIMIT",
    "delete globals": OK,
    "SAB nomem-limit bypass": "SCRIPT_RUNTIME",
    "Atomics.wait": "SCRIPT_RUNTIME",
    "gc cycles": "CPU_LIMIT",
    "guest catch-interrupt loop": "CPU_LIMIT",
    "stall": "UNRESOLVABLE_PROMISE",
    "deep return": "RESULT_INVALID",
    "return bigint": "RESULT_INVALID",
    "return cyclic": "RESULT_INVALID",
    "return fn": "RESULT_INVALID",
    "return undefined": OK,
    "return huge": "RESULT_LIMIT",
    "getter return": "CPU_LIMIT",
    "pollute JSON": OK,
    "pollute Array setter": OK,
    "then on prototype": OK,
    "throw toString loop": "SCRIPT_RUNTIME",
    "1e6 tool calls queued": "OK CPU_LIMIT",
    "promise all race ok": OK,
    "exit early w/ pending": OK,
    "escape wrapper": "SCRIPT_SYNTAX",
}
# Where the engine of 2021 ends otherwise: it computes what the younger one refuses.
MUST |= {"bigint pow huge nomem": "OK"} if OLD else {}
ENDINGS = {OK, "CPU_LIMIT", "MEMORY_LIMIT", "STACK_LIMIT", "SCRIPT_RUNTIME", "SCRIPT_SYNTAX", "RESULT_INVALID"}


def resident():
    """This process's resident set in bytes: the worker's, in the real thing."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.fixture(scope="module", autouse=True)
def _the_worker_stays_small(zygote):
    """Over all of this module, whatever the guests do, their host grows by less than 20 MB."""
    run(zygote, "return 1")
    before = resident()
    yield
    assert resident() - before < 20 << 20


@pytest.mark.parametrize("script", CORPUS, ids=[script["name"] for script in CORPUS])
def test_ends_in_time_and_classified(zygote, script):
    done = run(zygote, script["source"], cpu_ms=CPU_MS, seconds=WALL)
    assert done.seconds < WALL + 0.5
    assert done.reaped
    assert done.code in (MUST[script["name"]].split() if script["name"] in MUST else ENDINGS), done.end


def test_every_name_in_the_table_is_in_the_corpus():
    assert MUST.keys() <= {script["name"] for script in CORPUS}


@pytest.mark.parametrize("before", ["", "await 0;", "await sleep(1);"])
@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("for(;;);", "CPU_LIMIT"),
        ("let a=[];for(;;)a.push([1,2,3])", "MEMORY_LIMIT"),
        ("let a=[];for(;;)a.push(new Uint8Array(1<<20))", "MEMORY_LIMIT"),
        ("'x'.repeat(1<<29)", "MEMORY_LIMIT"),
        ("function f(){return f()+1} f()", "STACK_LIMIT"),
        ("throw null", "SCRIPT_RUNTIME"),
        ("throw new RangeError('Maximum call stack size exceeded')", "SCRIPT_RUNTIME"),
        ("throw new InternalError('out of memory')", "SCRIPT_RUNTIME"),
        (
            "throw Object.assign(new Error('out of memory'), {name: 'InternalError', code: 'MEMORY_LIMIT'})",
            "SCRIPT_RUNTIME",
        ),
        ("throw new ToolError({code: 'CALL_LIMIT', message: 'x'})", "SCRIPT_RUNTIME"),
    ],
)
def test_one_code_in_every_phase(zygote, before, source, code):
    done = run(zygote, before + source, cpu_ms=700, memory_bytes=16 << 20)
    assert done.code == code, done.end


def test_memory_error_caught_for_ever_ends_at_the_cpu_limit(zygote):
    source = "for(;;) { try { let a=[]; for(;;) a.push([1,2,3]) } catch {} }"
    assert run(zygote, source, cpu_ms=300, memory_bytes=16 << 20).code == "CPU_LIMIT"


POLLUTIONS = [
    "Object.prototype.toJSON = () => 'evil';",
    "Array.prototype.toJSON = () => 'evil'; String.prototype.toJSON = () => 'evil'; Number.prototype.toJSON = () => 0;",
    "try { Object.defineProperty(Object.prototype, 'toJSON', {value: () => 'evil'}) } catch {}",
    "JSON.stringify = () => '\"evil\"'; JSON.parse = () => 'evil';",
    "Array.prototype.push = Array.prototype.join = Array.prototype.map = () => 'evil';",
    "Object.defineProperty(Array.prototype, '0', {set(v) {}, get() { return 'evil' }});",
    "String.prototype.slice = String.prototype.replace = String.prototype.charCodeAt = () => 'evil';",
    "RegExp.prototype.exec = RegExp.prototype.test = () => null; RegExp.prototype[Symbol.replace] = () => 'evil';",
    "Map.prototype.get = Map.prototype.set = Map.prototype.has = Map.prototype.delete = () => undefined;",
    "Promise.prototype.then = function () {}; Promise.resolve = () => 1;",
    "Object.defineProperty(Promise, Symbol.species, {get() { throw 1 }});",
    "Reflect.apply = Function.prototype.call = Function.prototype.apply = () => 'evil';",
    "globalThis.Promise = globalThis.Map = globalThis.JSON = globalThis.Object = undefined;",
    "Object.keys = () => []; Object.freeze = (x) => x; Object.setPrototypeOf = () => { throw 1 };",
    "Array.prototype[Symbol.iterator] = function* () { yield 'evil' };",
    "Error.prepareStackTrace = () => { for(;;); }; Error.stackTraceLimit = 0;",
    "Number.isSafeInteger = () => true; Array.isArray = () => false;",
    "Object.defineProperty(Map.prototype, 'size', {get() { return 0 }}); Map.prototype.forEach = () => {};",
    "String.prototype.indexOf = () => 0; String.prototype.toWellFormed = String.prototype.isWellFormed = () => 'evil';",
    "Object.defineProperty(Error.prototype, 'message', {get() { throw 1 }}); ToolError.prototype.name = 'evil';",
]


@pytest.mark.parametrize("pollution", POLLUTIONS)
def test_nothing_that_crosses_is_changed(zygote, pollution):
    source = (
        pollution
        + """
    text("out"); console.log("log"); progress("half"); state.set("k", {v: [1, "é"]});
    const got = await tools.call("echo", {path: ["a", "é", 1.5], n: 3});
    return [got, state.get("k")]
    """
    )
    done = run(zygote, source)
    assert done.calls[0].input == {"path": ["a", "é", 1.5], "n": 3}
    assert (done.output, done.log) == (["out"], [("log", "log")])
    assert done.state == {"k": {"v": [1, "é"]}}
    assert done.value == [{"path": ["a", "é", 1.5], "n": 3}, {"v": [1, "é"]}]


def test_a_class_may_still_have_its_own_to_json(zygote):
    source = """
    class A { toJSON() { return 'mine' } }
    BigInt.prototype.toJSON = function () { return String(this) };
    return [new A(), 5n, {toJSON: () => 7}]
    """
    assert run(zygote, source).value == ["mine", "5", 7]


def test_the_next_guest_sees_nothing(zygote):
    run(zygote, "Object.prototype.leak = 1; globalThis.leaked = 2; Math.random = () => 7; state.set('a', 1)")
    source = "return [({}).leak === undefined, typeof leaked, Math.random() === 7, state.get('a') === undefined]"
    assert run(zygote, source).value == [True, "undefined", False, True]


def test_every_global_belongs_to_the_guests_realm(zygote):
    source = """
    const seen = new Set(), queue = [globalThis], found = [];
    while (queue.length) {
      const at = queue.pop();
      if (seen.has(at)) continue;
      seen.add(at);
      if (typeof at === "function" && !(at instanceof Function) && at !== Function.prototype) found.push(String(at));
      for (const key of Reflect.ownKeys(at)) {
        let d; try { d = Object.getOwnPropertyDescriptor(at, key) } catch { continue }
        for (const v of [d.value, d.get, d.set]) if (v === Object(v)) queue.push(v);
      }
      const up = Object.getPrototypeOf(at); if (up !== null) queue.push(up);
    }
    return [found, seen.size > 500, new Function("return typeof process + typeof require")()]
    """
    assert run(zygote, source).value == [[], True, "undefinedundefined"]


def test_floods_stay_within_their_budgets(zygote):
    assert run(zygote, "for (let i = 0; i < 1e5; i++) progress('p' + i); return 1", cpu_ms=3000).value == 1
    flood = "for (let i = 0; i < 20000; i++) { state.set('k' + i, i); state.delete('k' + i) } return 1"
    done = run(zygote, flood)
    assert (done.value, done.state) == (1, {})
    floating = run(zygote, "for (let i = 0; i < 1e5; i++) Promise.reject(i); return 1", cpu_ms=5000)
    assert floating.value == 1


def test_default_limits_hold_for_what_is_never_interrupted(zygote):
    done = run(zygote, "new Array(2**32-1).join('x')", cpu_ms=300, seconds=3)
    assert done.code in ("CPU_LIMIT", "MEMORY_LIMIT")
    assert done.end.details["cpu_ms"] < 800
    assert isinstance(run(zygote, "return 1").end, Complete)
    assert Limits().cpu_ms == 10_000


@pytest.mark.parametrize(
    "source",
    [
        "'a'.repeat(4e6).indexOf('a'.repeat(2e6) + 'b')",
        "[].reverse.call({length: 2**53 - 1})",
        f"(7n ** {3_000_000 if OLD else 300_000}n).toString()",
        "Array(2**32 - 1).join('')",
    ],
)
def test_what_the_engine_never_interrupts_the_kernel_does(zygote, source):
    done = run(zygote, source, cpu_ms=200, seconds=8)
    assert done.code == "CPU_LIMIT"
    assert 200 <= done.end.details["cpu_ms"] < 600  # the clock of the kernel or of the host, whichever is first


def test_many_short_jobs_spend_one_budget(zygote):
    done = run(zygote, "(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})", cpu_ms=200)
    assert done.code == "CPU_LIMIT"
    assert done.end.details == {}  # the guest said so itself: no signal had to end it
