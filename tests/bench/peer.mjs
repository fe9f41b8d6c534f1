// The usual way in node: a worker thread a script, in it QuickJS as WebAssembly (npm quickjs-wasi), calls by message.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const CALLS = 1000;
const SEQUENTIAL = `(async () => { let n = 0; for (let i = 0; i < ${CALLS}; i++) { await call(i); n++ } return n })()`;
const TOGETHER = `(async () => (await Promise.all(Array.from({length: ${CALLS}}, (_, i) => call(i)))).length)()`;
const BACKTRACKING = "for (;;) /^(a+)+$/.test('a'.repeat(40) + 'b')";

async function guest() {
  const { QuickJS } = await import(pathToFileURL(createRequire(workerData.at).resolve("quickjs-wasi")));
  const vm = await QuickJS.create({ wasm: workerData.module, memoryLimit: 64 << 20 });
  const waiting = new Map();
  vm.setProp(vm.global, "call", vm.newFunction("call", (input) => {
    const deferred = vm.newPromise(), id = waiting.size;
    waiting.set(id, deferred);
    parentPort.postMessage({ id, input: input.toString() });
    return deferred.handle;
  }));
  parentPort.on("message", ({ id, value }) => {
    waiting.get(id).resolve(vm.newString(value));
    vm.executePendingJobs();
  });
  parentPort.postMessage({ ready: true });
  const root = vm.evalCode(workerData.source);
  vm.executePendingJobs();
  const done = await vm.resolvePromise(root);
  parentPort.postMessage({ done: done.value === undefined ? "error" : vm.dump(done.value) });
}

const at = `${process.argv[2]}/`;
let module;
function run(source) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { source, module, at }, argv: [process.argv[2]] });
  const begun = new Promise((resolve) => worker.on("message", (message) => message.ready && resolve()));
  const result = new Promise((resolve) => worker.on("message", (message) => {
    if (message.id !== undefined) worker.postMessage({ id: message.id, value: message.input });
    else if ("done" in message) resolve(message.done);
  }));
  return { worker, begun, result };
}
async function one(source) {
  const { worker, result } = run(source);
  const value = await result;
  return { value, worker };
}
const median = (taken) => taken.sort((a, b) => a - b)[taken.length >> 1];
async function timed(times, work) {
  const taken = [];
  for (let i = 0; i < times; i++) taken.push(await work());
  return median(taken);
}
const since = (began) => performance.now() - began;

async function host() {
  module = await WebAssembly.compile(readFileSync(createRequire(at).resolve("quickjs-wasi/quickjs.wasm")));
  const told = {};
  told["guest.start_ms"] = await timed(15, async () => {
    const began = performance.now(), { worker } = await one("Promise.resolve(1)");
    const taken = since(began);
    await worker.terminate();
    return taken;
  });
  for (const [name, source] of [["guest.call_seq_us", SEQUENTIAL], ["guest.call_all_us", TOGETHER]]) {
    told[name] = await timed(5, async () => {
      const { worker, begun, result } = run(source);
      await begun;
      const began = performance.now(), value = await result, taken = since(began);
      if (value !== CALLS) throw new Error(`${name}: ${value}`);
      await worker.terminate();
      return (taken / CALLS) * 1000;
    });
  }
  told["guest.cancel_ms"] = await timed(10, async () => {
    const { worker, begun } = run(BACKTRACKING);
    await begun;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const began = performance.now();
    await worker.terminate();
    return since(began);
  });
  const before = process.memoryUsage().rss, idle = [];
  for (let i = 0; i < 10; i++) idle.push(run("new Promise(() => {})"));
  await Promise.all(idle.map((each) => each.begun));
  told["guest.pss_mb"] = (process.memoryUsage().rss - before) / 10 / (1 << 20);
  await Promise.all(idle.map((each) => each.worker.terminate()));
  const began = performance.now();
  let left = 80;
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (left-- > 0) await (await one("Promise.resolve(1)")).worker.terminate();
  }));
  told["guest.throughput_s"] = 80 / (since(began) / 1000);
  process.stdout.write(JSON.stringify(told));
}
await (isMainThread ? host() : guest());
