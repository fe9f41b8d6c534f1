// What a script says beside calls: text, console, progress, and its state overlay.
const LOG_BYTES = 65536;
let outputs = list(), logs = list(), lastProgress = "";
let outputBytes = 0, logBytes = 0, stateBytes = 0;

function say(name, value) {
  define(globalThis, name, { value, writable: true, configurable: true });
}

say("text", function text(value) {
  const json = plain(shown(value)), bytes = bytesOf(json);
  if (outputBytes + bytes > limits.output_bytes) {
    throw refusal("OUTPUT_LIMIT", "the output may have " + limits.output_bytes + " bytes in all");
  }
  outputBytes += bytes;
  put(outputs, json);
});

function log(level, given) {
  if (logBytes >= LOG_BYTES) return;
  const parts = list();
  for (let i = 0; i < given.length; i++) {
    let part;
    try { part = shown(given[i]); } catch (error) {
      if (error === null || isMemoryError(error)) throw error;
      part = "[unprintable]";
    }
    put(parts, shortened(part, LOG_BYTES));
  }
  let json = plain(shortened(joined(parts, " "), LOG_BYTES)), bytes = bytesOf(json);
  if (logBytes + bytes > LOG_BYTES) {
    json = '"[the log is full]"';
    bytes = LOG_BYTES;
  }
  logBytes += bytes;
  put(logs, '{"level":"' + level + '","text":' + json + "}");
}
const consoleOf = {};
for (const level of ["log", "info", "warn", "error", "debug"]) consoleOf[level] = (...given) => log(level, given);
consoleOf.table = consoleOf.dir = consoleOf.trace = consoleOf.log;
say("console", freeze(consoleOf));

function counted(value) {
  return typeof value === "number" && isSafe(value) && value >= 0 ? Str(value) : "null";
}
say("progress", function progress(message, counts) {
  const of = counts === undefined || counts === null ? {} : counts;
  lastProgress = '{"message":' + plain(shortened(shown(message), 500)) +
    ',"completed":' + counted(of.completed) + ',"total":' + counted(of.total) + "}";
});

// State: key -> {json, bytes}. `known` is what the host holds, `written` what it has not been told yet.
const stored = new MapOf(), known = new MapOf();
let written = new MapOf();
const STATE_VALUE_BYTES = 262144;

function stateKey(key) {
  if (typeof key !== "string" || key === "" || key.length > 200) {
    throw new TypeErr("a state key must be text of 1 to 200 characters");
  }
  if (!apply(isWellFormed, key, []) || found(NUL, key)) throw new TypeErr("a state key may not hold U+0000 or a lone surrogate");
  return key;
}
const keyBytes = (key) => bytesOf(plain(key));
const storedBytes = (key) => (has(stored, key) ? keyBytes(key) + apply(mapGet, stored, [key]).bytes : 0);

const stateApi = {
  get(key) {
    const held = apply(mapGet, stored, [stateKey(key)]);
    return held === undefined ? undefined : parse(held.json);
  },
  set(key, value) {
    const encoded = encode(value, "TOOL_INPUT_INVALID", "a state value", STATE_VALUE_BYTES, "STATE_LIMIT");
    if (encoded === undefined) return stateApi.delete(key);
    const size = keyBytes(stateKey(key)) + encoded.bytes, before = storedBytes(key);
    if (stateBytes - before + size > limits.state_bytes) {
      throw refusal("STATE_LIMIT", "the state may have " + limits.state_bytes + " bytes in all");
    }
    stateBytes += size - before;
    apply(mapSet, stored, [key, encoded]);
    apply(mapSet, written, [key, encoded.json]);
  },
  delete(key) {
    stateBytes -= storedBytes(stateKey(key));
    const was = apply(mapDelete, stored, [key]);
    // The host need not hear of a key it never held: a set and delete in a loop stays one entry long.
    if (has(known, key)) apply(mapSet, written, [key, null]);
    else apply(mapDelete, written, [key]);
    return was;
  },
};
say("state", freeze(stateApi));

function loadState(snapshot) {
  for (const key of keysOf(snapshot)) {
    const json = stringify(snapshot[key]), bytes = bytesOf(json);
    apply(mapSet, stored, [key, { json, bytes }]);
    apply(mapSet, known, [key, true]);
    stateBytes += keyBytes(key) + bytes;
  }
}

function takeState() {
  if (sizeOf(written) === 0) return "";
  const writes = list();
  apply(mapEach, written, [(json, key) => {
    put(writes, json === null ? '{"key":' + plain(key) + ',"deleted":true}' : '{"key":' + plain(key) + ',"value":' + json + "}");
    if (json === null) apply(mapDelete, known, [key]);
    else apply(mapSet, known, [key, true]);
  }]);
  written = new MapOf();
  return joined(writes, ",");
}
