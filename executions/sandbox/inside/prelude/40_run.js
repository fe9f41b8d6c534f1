// Compiling, running and the turn: the child drives start or settle, runs jobs until idle, then takes turn() and, at the end, end().
const FRAME_ROOM = 8 * 1024 * 1024 - 4096;
let ending = null;       // {kind: "C" complete | "F" fatal | "N" fatal on a thrown null, ...}

function fail(code, message, line, kind) {
  if (ending === null) ending = { kind: kind === undefined ? "F" : kind, code, message, line };
}

// The code a thrown value ends the execution with: the engine's and this prelude's own errors by type, never by text.
function failWith(error) {
  const own = isError(error) ? apply(weakGet, codes, [error]) : undefined;
  if (error === null) fail("SCRIPT_RUNTIME", "null was thrown", 0, "N"); // the engine throws null when it can't even make its error
  else if (isMemoryError(error)) fail("MEMORY_LIMIT", "the memory limit was reached", lineOf(error));
  else if (isStackError(error)) fail("STACK_LIMIT", "the stack limit was reached", lineOf(error));
  else if (own !== undefined) fail(own, shortened(error.message, MAX_MESSAGE), lineOf(error));
  else fail("SCRIPT_RUNTIME", describe(error), lineOf(error));
}

// The user's text is never run to find out whether it is one function body. First it stands where closing the function
// and its block must be followed by `finally`, and a fault behind it keeps the whole from running: the parser has to get
// as far as that fault. Then it stands where the same two closings must be followed by an operator or ")". No text fits
// both, and one that closes only the function leaves a function that does not read as written.
const PAD = "\n".repeat(FIRST_LINE - 3);
const OPENING = "async function __script__(){\n";
function fault(source) { // what the parser says of it; never runs
  try {
    RealFunction(PAD + "return;try{" + OPENING + source + "\n}}finally{}\n@");
  } catch (error) {
    return error;
  }
  return undefined;
}
function compile(given) {
  const lines = given.split("\n").length; // at start only: nothing of the guest has run yet
  const source = OLD ? mended(given) : given, faultLine = lines + 2;
  const stop = fault(source);
  if (!engineSays(stop, SyntaxError, "")) return failWith(stop), undefined;
  const line = lineOf(stop);
  if (line !== faultLine) return fail("SCRIPT_SYNTAX", describe(stop), line < lines ? line : lines), undefined;
  try {
    const script = RealFunction(PAD + "return __script__;" + OPENING + source + "\n}")();
    if (apply(sourceOf, script, []) === OPENING + source + "\n}") return script;
    fail("SCRIPT_SYNTAX", "SyntaxError: a closing brace too many", 0);
  } catch (error) {
    if (!engineSays(error, SyntaxError, "")) return failWith(error), undefined;
    const line = lineOf(error);
    fail("SCRIPT_SYNTAX", describe(error), line < lines ? line : lines);
  }
  return undefined;
}

// quickjs 1.19.4 takes `await` for the rest of a function declared right before it: where its parser stops at such an
// `await`, the closing brace before gets a semicolon.
function mended(source) {
  const lines = source.split("\n");
  for (let tries = 0; tries < lines.length; tries++) {
    const line = lineOf(fault(lines.join("\n"))), stopped = lines[line - 1];
    if (stopped === undefined) break;
    if (/\}[ \t]*await\b/.test(stopped)) {
      lines[line - 1] = stopped.replace(/\}[ \t]*(?=await\b)/g, "}; ");
      continue;
    }
    let at = line - 2;
    while (at >= 0 && /^\s*(\/\/.*)?$/.test(lines[at])) at--;
    if (at < 0 || !/^\s*await\b/.test(stopped) || !/\}\s*$/.test(lines[at])) break;
    lines[at] += ";";
  }
  return lines.join("\n");
}

function finish(value) {
  try {
    const encoded = value === undefined ? undefined : encode(value, "RESULT_INVALID", "the result", limits.result_bytes, "RESULT_LIMIT");
    if (encoded === undefined && value !== undefined) return fail("RESULT_INVALID", "the result is not JSON", 0);
    if (ending === null) ending = { kind: "C", json: encoded === undefined ? undefined : encoded.json };
  } catch (error) {
    failWith(error);
  }
  return undefined;
}

// The child has checked the envelope; the payload must have exactly its keys.
function payloadOf(text, keys) {
  const payload = parse(text);
  if (keysOf(payload).length === keys && payload.now !== undefined) return payload;
  fail("PROTOCOL_VIOLATION", "the host sent another payload than it may", 0);
  return null;
}

function start(text) {
  const given = payloadOf(text, 7);
  if (given === null) return undefined;
  limits = given.limits;
  credit = limits.in_flight;
  setClock(given.now);
  seedRandom(given.seed);
  loadState(given.state);
  buildTools(given.catalog);
  define(globalThis, "input", { value: given.input, writable: true, configurable: true });
  const script = compile(given.source);
  if (script === undefined) return undefined;
  try {
    const root = script();
    define(root, "constructor", { value: undefined }); // so that then() asks the guest for no species
    apply(then, root, [finish, failWith]);
  } catch (error) {
    failWith(error);
  }
  return undefined;
}

function settle(text) {
  const given = payloadOf(text, 4);
  if (given === null) return;
  setClock(given.now);
  if (isSafe(given.grant) && given.grant >= 0) credit += given.grant;
  for (let i = 0; i < given.results.length; i++) settleOne(given.results[i]);
  for (let i = 0; i < given.catalog.length; i++) answerOne(given.catalog[i]);
}

// The next frame's payload; once the script has ended "!" and, if there is something left to say, its last payload.
// Output, log and state always fit together; calls that don't wait for the next frame.
const FRAME = setProto(['{"calls":[', "", '],"sleep":[', "", '],"catalog":[', "", '],"output":[', "", '],"log":[', "",
  '],"progress":[', "", '],"state":[', "", "]}"], null);
function turn() {
  tellFloating();
  let said = 8 * lastProgress.length;
  FRAME[5] = FRAME[7] = FRAME[9] = "";
  if (lookups.length > 0) { said += bytesOf(FRAME[5] = joined(lookups, ",")); lookups = list(); }
  if (outputs.length > 0) { said += bytesOf(FRAME[7] = joined(outputs, ",")); outputs = list(); }
  if (logs.length > 0) { said += bytesOf(FRAME[9] = joined(logs, ",")); logs = list(); }
  FRAME[11] = lastProgress;
  lastProgress = "";
  said += bytesOf(FRAME[13] = takeState());
  sendCalls(FRAME_ROOM - said);
  FRAME[1] = callParts;
  FRAME[3] = sleepParts;
  if (ending === null && inFlight() === 0 && !isWaiting() && sizeOf(lookedUp) === 0) {
    fail("UNRESOLVABLE_PROMISE", "the script waits for a promise that nothing can settle", 0, nullFloats || OLD ? "N" : "F");
  }
  if (ending === null) return joined(FRAME, ""); // flat: the binding can't take a string that is still a rope
  return said + callParts.length + sleepParts.length === 0 ? "!" : joined(setProto(["!", joined(FRAME, "")], null), "");
}

// The terminal frame: its kind, then its payload.
function end() {
  const parts = list();
  put(parts, ending.kind);
  if (ending.kind === "C") {
    put(parts, (ending.json === undefined ? '{"unawaited":' : '{"value":' + ending.json + ',"unawaited":') + unawaited() + "}");
  } else {
    put(parts, '{"code":"' + ending.code + '","message":' + plain(ending.message));
    put(parts, (ending.line > 0 ? ',"line":' + ending.line : "") + "}");
  }
  return joined(parts, "");
}

// Promises rejected while nobody listens; what is still here when the guest comes to rest is told in the log.
const floating = new MapOf(), MAX_FLOATING = 256;
let nullFloats = false; // the engine may have lost the script's own promise: see classify.py
function track(promise, reason, handled) {
  if (handled) apply(mapDelete, floating, [promise]);
  else if (sizeOf(floating) < MAX_FLOATING) apply(mapSet, floating, [promise, reason]);
}
function tellFloating() {
  if (sizeOf(floating) === 0) return;
  apply(mapEach, floating, [(reason) => {
    if (reason === null) nullFloats = true;
    log("warn", ["unhandled rejection: " + describe(reason)]);
  }]);
  apply(mapClear, floating, []);
}
