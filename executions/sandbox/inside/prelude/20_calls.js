// Calls and sleeps: counted, budgeted, sent only on credit, first in first out.
let limits = { max_calls: 0, in_flight: 0, input_bytes: 0, result_bytes: 0, output_bytes: 0, state_bytes: 0 };
let credit = 0, asked = 0, sent = 0, waitingHead = 0;
let waiting = list();
const pending = new MapOf();
const inFlight = () => sizeOf(pending);
let callParts = "", sleepParts = "", lastTool = "", lastToolJson = '""';
const isWaiting = () => waitingHead < waiting.length;

function ask(sleeps, tail, resolve, reject) {
  if (asked >= limits.max_calls) {
    reject(refusal("CALL_LIMIT", "this execution may make " + limits.max_calls + " calls"));
    return;
  }
  asked++;
  put(waiting, { sleeps, tail, resolve, reject });
}

function toolJson(tool) {
  if (tool === lastTool) return lastToolJson;
  if (typeof tool !== "string") throw new TypeErr("tools.call(name, input): the name must be text");
  if (tool.length > 200 || !apply(isWellFormed, tool, []) || found(NUL, tool)) throw refusal("TOOL_NOT_FOUND", "no such tool");
  lastToolJson = plain(tool);
  lastTool = tool;
  return lastToolJson;
}

function callTail(tool, input, options) {
  const head = ',"tool":' + toolJson(tool) + ',"input":';
  const encoded = encode(input === undefined ? null : input, "TOOL_INPUT_INVALID", "the input", limits.input_bytes, "INPUT_LIMIT");
  if (encoded === undefined) throw refusal("TOOL_INPUT_INVALID", "the input is not JSON");
  const purpose = options === undefined || options === null ? undefined : options.purpose;
  if (purpose === undefined || purpose === null) return { text: head + encoded.json + "}", bytes: head.length + encoded.bytes };
  if (typeof purpose !== "string" || purpose.length > 500) {
    throw refusal("TOOL_INPUT_INVALID", "the purpose must be text of at most 500 characters");
  }
  const words = ',"purpose":' + plain(purpose) + "}";
  return { text: head + encoded.json + words, bytes: head.length + encoded.bytes + 6 * words.length };
}

function call(tool, input, options) {
  return new P((resolve, reject) => ask(false, callTail(tool, input, options), resolve, reject));
}

define(globalThis, "sleep", {
  value: function sleep(ms) {
    return new P((resolve, reject) => {
      if (typeof ms !== "number" || !isFinite(ms) || ms < 0 || ms > 31536000000) {
        throw new TypeErr("sleep(ms): ms must be a number from 0 to one year");
      }
      ask(true, { text: ',"ms":' + trunc(ms) + "}", bytes: 40 }, resolve, reject);
    });
  },
  writable: true, configurable: true,
});

// Moves what has credit and fits into the frame.
function sendCalls(room) {
  callParts = sleepParts = "";
  while (credit > 0 && isWaiting()) {
    const next = waiting[waitingHead], size = next.tail.bytes + 32;
    if (size > room) break;
    waiting[waitingHead++] = undefined;
    if (waitingHead === waiting.length) { waiting = list(); waitingHead = 0; }
    room -= size;
    credit--;
    sent++;
    if (next.sleeps) sleepParts += (sleepParts === "" ? '{"n":' : ',{"n":') + sent + next.tail.text;
    else callParts += (callParts === "" ? '{"n":' : ',{"n":') + sent + next.tail.text;
    apply(mapSet, pending, [sent, next]);
  }
}

// Settles one result; a late, doubled or unknown n is ignored.
function settleOne(result) {
  const asker = apply(mapGet, pending, [result.n]);
  if (asker === undefined) return;
  apply(mapDelete, pending, [result.n]);
  if (result.ok === true) asker.resolve(result.value);
  else asker.reject(new ToolError(result.error));
}

function unawaited() {
  const numbers = list();
  apply(mapEach, pending, [(_, n) => put(numbers, n)]);
  return "[" + joined(numbers, ",") + "]";
}

// The catalog: questions go out with the turn, at most MAX_LOOKUPS of them in all.
const MAX_LOOKUPS = 100, MAX_ENTRIES = 20, MAX_QUERY = 200;
let lookups = list(), lookupsAsked = 0;
const lookedUp = new MapOf();
function lookUp(op, query, limit) {
  return new P((resolve, reject) => {
    if (typeof query !== "string" || query.length > MAX_QUERY) throw new TypeErr("catalog." + op + ": text of at most " + MAX_QUERY + " characters is needed");
    if (!isInteger(limit) || limit < 1) throw new TypeErr("catalog.search: the limit must be a whole number from 1");
    if (lookupsAsked >= MAX_LOOKUPS) return reject(refusal("CALL_LIMIT", "this execution may ask the catalog " + MAX_LOOKUPS + " times"));
    const most = limit > MAX_ENTRIES ? MAX_ENTRIES : limit;
    put(lookups, '{"request_id":' + ++lookupsAsked + ',"op":"' + op + '","query":' + plain(query) + ',"limit":' + most + "}");
    apply(mapSet, lookedUp, [lookupsAsked, { resolve, reject, one: op === "describe" }]);
    return undefined;
  });
}
function answerOne(answer) {
  const asker = apply(mapGet, lookedUp, [answer.request_id]);
  if (asker === undefined) return;
  apply(mapDelete, lookedUp, [answer.request_id]);
  if (answer.ok === true) asker.resolve(asker.one ? answer.entries[0] : answer.entries);
  else asker.reject(new ToolError(answer.error));
}
define(globalThis, "catalog", {
  value: freeze({
    search(query = "", options = {}) { return lookUp("search", query, options === null || options.limit === undefined ? 10 : options.limit); },
    describe(name) { return lookUp("describe", name, 1); },
  }),
  writable: true, configurable: true,
});

// tools.call, and tools.<family>.<name> for every capability of the catalog the caller may use.
const RESERVED = "call";
const camel = (part) => {
  const words = part.split("-");
  return words[0] + words.slice(1).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
};
function buildTools(names) {
  const tools = { call };
  const nodes = [tools];
  for (const name of names) {
    const path = name.split(".").map(camel);
    if (path[0] === RESERVED) continue;
    const leaf = path.pop();
    let at = tools;
    for (const step of path) {
      if (!hasOwn(at, step)) { at[step] = O.create(null); nodes.push(at[step]); }
      at = at[step];
    }
    const branch = hasOwn(at, leaf) ? at[leaf] : {};
    const use = (input, options) => call(name, input, options);
    at[leaf] = O.assign(use, branch);
    nodes.push(use);
  }
  nodes.forEach(freeze);
  define(globalThis, "tools", { value: tools, writable: true, configurable: true });
}
