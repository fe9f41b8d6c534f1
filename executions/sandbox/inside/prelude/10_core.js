// Primordials and the one JSON encoder. Everything is captured before user code runs, and nothing below reaches a
// method through a prototype the user can change: own lists have no prototype, methods go through apply().
const O = Object, P = Promise, apply = Reflect.apply, construct = Reflect.construct;
const stringify = JSON.stringify, parse = JSON.parse, Str = String, RealDate = Date;
const setProto = O.setPrototypeOf, objectProto = O.prototype;
const define = O.defineProperty, keysOf = O.keys, ownProperty = O.getOwnPropertyDescriptor, protoOf = O.getPrototypeOf;
const freeze = O.freeze, isArray = Array.isArray, isInteger = Number.isInteger, isFinite = Number.isFinite;
const isSafe = Number.isSafeInteger, trunc = Math.trunc, imul = Math.imul;
const then = P.prototype.then, exec = RegExp.prototype.exec, join = Array.prototype.join;
const sliced = Str.prototype.slice, indexOf = Str.prototype.indexOf, unitAt = Str.prototype.charCodeAt;
const sourceOf = Function.prototype.toString, toText = O.prototype.toString, ownHas = O.prototype.hasOwnProperty;
const hasOwn = (target, key) => apply(ownHas, target, [key]);
const mapGet = Map.prototype.get, mapSet = Map.prototype.set, mapHas = Map.prototype.has, mapDelete = Map.prototype.delete;
const mapSize = ownProperty(Map.prototype, "size").get, mapEach = Map.prototype.forEach, mapClear = Map.prototype.clear, MapOf = Map, weakGet = WeakMap.prototype.get, weakSet = WeakMap.prototype.set;
const weakHas = WeakMap.prototype.has, RealFunction = Function, TypeErr = TypeError, RangeErr = RangeError;
const Internal = typeof InternalError === "function" ? InternalError : RangeErr;

const MAX_DEPTH = 200, MAX_MESSAGE = 2000, FIRST_LINE = 2000;
const list = () => setProto([], null);
const put = (to, item) => { to[to.length] = item; };
const sizeOf = (map) => apply(mapSize, map, []);
const joined = (items, by) => apply(join, items, [by]);
const has = (map, key) => apply(mapHas, map, [key]);
const found = (regexp, text) => apply(exec, regexp, [text]) !== null; // for expressions without the flag g

const NUL = /\u0000/, LONG_DIGITS = /[0-9]{16}/, NON_ASCII = /[\u0080-\uffff]+/g, BRACKETS = setProto(["[", "{"], null);
// What in a short JSON text needs a closer look: non-ASCII, integers that may be too long, lone surrogates, U+0000.
const SUSPECT = /[\u0080-\uffff]|[0-9]{16}|\\u(?:d[89a-f]|0000)/, SHORT = 2 * MAX_DEPTH;

// quickjs 1.19.4 is an engine of 2021; what this prelude itself needs of later ones stands here.
const OLD = typeof Error.isError !== "function";
const isError = Error.isError || function (value) {
  try { return typeof value === "object" && value !== null && apply(toText, value, []) === "[object Error]"; } catch (trap) { return false; }
};
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const isWellFormed = Str.prototype.isWellFormed || function isWellFormed() { return !found(LONE, Str(this)); };
const wellFormed = Str.prototype.toWellFormed || function toWellFormed() {
  let text = Str(this), hit;
  while ((hit = apply(exec, LONE, [text])) !== null) text = apply(sliced, text, [0, hit.index]) + "\ufffd" + apply(sliced, text, [hit.index + 1]);
  return text;
};
const SIMPLE = /^[ !#-[\]-~]*$/;

// A limit's error carries the code the execution fails with if nobody catches it.
const codes = new WeakMap();
class ToolError extends Error {
  constructor(error) {
    super(Str(error.message));
    define(this, "name", { value: "ToolError", configurable: true, writable: true });
    this.code = Str(error.code);
    this.retryable = error.retryable === true;
    if (error.details !== undefined) this.details = error.details;
  }
}
freeze(ToolError);

function refusal(code, message, path) {
  const details = path === undefined ? undefined : { path };
  const error = new ToolError({ code, message: path ? message + " (at " + shortened(path, 500) + ")" : message, retryable: false, details });
  if (apply(sliced, code, [0, 5]) !== "TOOL_") apply(weakSet, codes, [error, code]);
  return error;
}

// The global RangeError and InternalError note what user code makes with them, so that an unnoted one is the engine's.
const guestMade = new WeakMap();
function noted(Real, name) {
  const Noted = function (...given) {
    const error = construct(Real, given, new.target === undefined ? Noted : new.target);
    apply(weakSet, guestMade, [error, true]);
    return error;
  };
  define(Noted, "name", { value: name, configurable: true });
  define(Noted, "length", { value: 1, configurable: true });
  define(Noted, "prototype", { value: Real.prototype, writable: false });
  setProto(Noted, Error);
  define(Real.prototype, "constructor", { value: Noted, writable: true, configurable: true });
  define(globalThis, name, { value: Noted, writable: true, configurable: true });
}
noted(RangeErr, "RangeError");
if (Internal !== RangeErr) noted(Internal, "InternalError");

function engineError(error, Real) {
  return isError(error) && protoOf(error) === Real.prototype && !apply(weakHas, guestMade, [error]);
}
function engineSays(error, Real, start) {
  if (!engineError(error, Real)) return false;
  const message = ownProperty(error, "message");
  return message !== undefined && typeof message.value === "string" &&
    apply(sliced, message.value, [0, start.length]) === start;
}
const isMemoryError = (error) => engineSays(error, Internal, "out of memory");
const isStackError = (error) => engineSays(error, RangeErr, "Maximum call stack") || engineSays(error, Internal, "stack overflow");

// A replaced toJSON on these prototypes must not rewrite what crosses; own and class methods still work.
for (const Base of [O, Array, Str, Number, Boolean]) {
  const base = Base.prototype;
  define(base, "toJSON", {
    get() { return undefined; },
    set(value) {
      if (this === base || this === objectProto) return;
      define(this, "toJSON", { value, writable: true, enumerable: true, configurable: true });
    },
    enumerable: false, configurable: false,
  });
}

// A key as a part of a JSON pointer.
function pointed(key) {
  let part = "";
  for (let i = 0; i < key.length; i++) part += key[i] === "~" ? "~0" : key[i] === "/" ? "~1" : key[i];
  return "/" + part;
}

function refuseFaults(value, depth, code, what, path) {
  if (typeof value === "string") {
    if (!apply(isWellFormed, value, [])) throw refusal(code, what + " holds a lone surrogate", path);
  } else if (typeof value === "number") {
    if (isInteger(value) && !isSafe(value) && found(LONG_DIGITS, stringify(value))) {
      throw refusal(code, what + " holds an integer beyond 2^53-1: send it as text", path);
    }
  } else if (value !== null && typeof value === "object") {
    if (depth >= MAX_DEPTH) throw refusal(code, what + " is nested deeper than " + MAX_DEPTH);
    const keys = keysOf(value), listed = isArray(value);
    for (let i = 0; i < keys.length; i++) {
      if (!listed) {
        if (found(NUL, keys[i])) throw refusal(code, what + " has a key with U+0000", path);
        refuseFaults(keys[i], depth, code, what, path);
      }
      refuseFaults(value[keys[i]], depth + 1, code, what, path + pointed(keys[i]));
    }
  }
}

// Nesting alone, over what JSON.parse made: scalars are passed by.
function refuseDepth(value, depth, code, what) {
  if (depth >= MAX_DEPTH) throw refusal(code, what + " is nested deeper than " + MAX_DEPTH);
  const keys = isArray(value) ? null : keysOf(value), size = keys === null ? value.length : keys.length;
  for (let i = 0; i < size; i++) {
    const inner = keys === null ? value[i] : value[keys[i]];
    if (typeof inner === "object" && inner !== null) refuseDepth(inner, depth + 1, code, what);
  }
}

function mayBeDeep(json) {
  let openings = 0;
  for (let which = 0; which < 2; which++) {
    const bracket = BRACKETS[which];
    for (let at = -1; (at = apply(indexOf, json, [bracket, at + 1])) >= 0;) if (++openings > MAX_DEPTH) return true;
  }
  return false;
}

function refuseFaultsOf(json, code, what) {
  const odd = apply(indexOf, json, ["\\ud"]) >= 0 || apply(indexOf, json, ["\\u0000"]) >= 0 || found(LONG_DIGITS, json);
  if (odd) refuseFaults(parse(json), 0, code, what, "");
  else if (mayBeDeep(json)) refuseDepth(parse(json), 0, code, what);
}

// Bytes of a JSON text once the child has escaped what is not ASCII.
function bytesOf(json) {
  let bytes = json.length, hit;
  NON_ASCII.lastIndex = 0;
  while ((hit = apply(exec, NON_ASCII, [json])) !== null) bytes += 5 * hit[0].length;
  return bytes;
}

// {json, bytes} of a value, or undefined where JSON has none (undefined, a function, a symbol).
// Over `most` bytes it is refused with `limitCode`, before time is spent on looking into it.
function encode(value, code, what, most, limitCode) {
  let json;
  try {
    json = stringify(value);
  } catch (error) {
    if (error === null || isMemoryError(error)) throw error;
    throw refusal(code, what + " is not JSON: " + (isStackError(error) ? "nested too deeply" : describe(error)));
  }
  if (json === undefined) return undefined;
  if (json.length <= SHORT && json.length <= most && !found(SUSPECT, json)) return { json, bytes: json.length };
  if (json.length <= most) refuseFaultsOf(json, code, what);
  const bytes = json.length <= most ? bytesOf(json) : json.length;
  if (bytes > most) throw refusal(limitCode, what + " has over " + most + " bytes of JSON");
  return { json, bytes };
}

const plain = (text) => (text.length <= SHORT && found(SIMPLE, text) ? '"' + text + '"' : stringify(apply(wellFormed, text, [])));
const shortened = (text, size) => (text.length > size ? apply(sliced, text, [0, size]) : text);

// What a thrown value says, for people: text of the guest, never evidence.
function describe(error) {
  try {
    if (!isError(error)) return shortened(typeof error === "string" ? error : shown(error), MAX_MESSAGE);
    const name = shortened(Str(error.name), 100), message = shortened(Str(error.message), MAX_MESSAGE);
    const code = error instanceof ToolError ? " " + shortened(Str(error.code), 100) : "";
    return message === "" ? name + code : name + code + ": " + message;
  } catch (broken) {
    return "an error that can't be printed";
  }
}

// One value as text for output and log.
function shown(value) {
  if (typeof value === "string") return value;
  if (isError(value)) return describe(value);
  if (typeof value === "object" && value !== null) {
    const json = stringify(value);
    return json === undefined ? Str(value) : json;
  }
  return Str(value);
}

const FRAME_LINE = /<input>:([0-9]+)/g;
function lineOf(error) {
  try {
    const stack = isError(error) ? error.stack : undefined;
    if (typeof stack !== "string") return 0;
    const text = shortened(stack, 4 * MAX_MESSAGE);
    let hit;
    FRAME_LINE.lastIndex = 0;
    while ((hit = apply(exec, FRAME_LINE, [text])) !== null) if (+hit[1] > FIRST_LINE) return hit[1] - FIRST_LINE;
  } catch (broken) { /* a getter of the guest threw: there is no line */ }
  return 0;
}
