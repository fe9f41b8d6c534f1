// The deterministic clock and random, what is taken away, and language builtins the engine lacks.
let clock = 0;
function setClock(now) { clock = now; }

function FixedDate(...given) {
  if (new.target === undefined) return new FixedDate().toString();
  return construct(RealDate, given.length === 0 ? [clock] : given, new.target);
}
define(FixedDate, "name", { value: "Date", configurable: true });
define(FixedDate, "length", { value: 7, configurable: true });
define(FixedDate, "prototype", { value: RealDate.prototype, writable: false });
const method = (target, name, value) => define(target, name, { value, writable: true, configurable: true });
method(FixedDate, "now", function now() { return clock; });
method(FixedDate, "parse", RealDate.parse);
method(FixedDate, "UTC", RealDate.UTC);
method(RealDate.prototype, "constructor", FixedDate);
method(globalThis, "Date", FixedDate);
method(globalThis, "performance", freeze({ timeOrigin: 0, now() { return clock; } }));

// sfc32, seeded by a hash (cyrb128) of the execution's seed.
let a = 1, b = 2, c = 3, d = 4;
function seedRandom(seed) {
  let h1 = 1779033703, h2 = 3144134277, h3 = 1013904242, h4 = 2773480762;
  for (let i = 0; i < seed.length; i++) {
    const unit = apply(unitAt, seed, [i]);
    h1 = h2 ^ imul(h1 ^ unit, 597399067);
    h2 = h3 ^ imul(h2 ^ unit, 2869860233);
    h3 = h4 ^ imul(h3 ^ unit, 951274213);
    h4 = h1 ^ imul(h4 ^ unit, 2716044179);
  }
  a = h1 ^ h2 ^ h3 ^ h4; b = h2; c = h3; d = h4;
  for (let i = 0; i < 15; i++) random32();
}
function random32() {
  const t = (((a + b) | 0) + d) | 0;
  d = (d + 1) | 0;
  a = b ^ (b >>> 9);
  b = (c + (c << 3)) | 0;
  c = ((c << 21) | (c >>> 11)) + t | 0;
  return t >>> 0;
}
method(Math, "random", function random() {
  return ((random32() >>> 5) * 67108864 + (random32() >>> 6)) / 9007199254740992;
});
const hexOf = (n, digits) => ("0000000" + n.toString(16)).slice(-digits);
method(globalThis, "crypto", freeze({
  // Deterministic like Math.random: names things, keeps no secret.
  randomUUID() {
    const w = [random32(), random32(), random32(), random32()], x = hexOf(w[1], 8), y = hexOf((w[2] & 0x3fffffff | 0x80000000) >>> 0, 8);
    return hexOf(w[0], 8) + "-" + x.slice(0, 4) + "-4" + x.slice(5) + "-" + y.slice(0, 4) + "-" + y.slice(4) + hexOf(w[3], 8);
  },
  getRandomValues(into) {
    for (let i = 0; i < into.length; i++) into[i] = random32();
    return into;
  },
}));

// Non-deterministic (collection, other threads) or a way around the memory limit.
for (const name of ["WeakRef", "FinalizationRegistry", "SharedArrayBuffer", "Atomics", "gc", "print", "scriptArgs"]) delete globalThis[name];
// Frames of this prelude are not the guest's to inspect.
if ("prepareStackTrace" in Error) define(Error, "prepareStackTrace", { value: undefined, writable: false, configurable: false });

const lacking = (target, name, value) => { if (!(name in target)) method(target, name, value); };
method(globalThis, "ToolError", ToolError);
method(globalThis, "structuredClone", function structuredClone(value) { return cloned(value, new MapOf()); });
function cloned(value, seen) {
  if (typeof value === "function" || typeof value === "symbol") throw new TypeErr("a " + typeof value + " can't be cloned");
  if (typeof value !== "object" || value === null) return value;
  if (has(seen, value)) return apply(mapGet, seen, [value]);
  const keep = (copy) => { apply(mapSet, seen, [value, copy]); return copy; };
  if (value instanceof RealDate) return keep(new FixedDate(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(value.slice ? value.slice() : new DataView(value.buffer.slice(0)));
  if (value instanceof Map) {
    const copy = keep(new Map());
    value.forEach((inner, key) => copy.set(cloned(key, seen), cloned(inner, seen)));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    value.forEach((inner) => copy.add(cloned(inner, seen)));
    return copy;
  }
  if (isError(value)) {
    const copy = keep(new Error(value.message));
    method(copy, "name", value.name);
    return copy;
  }
  const copy = keep(isArray(value) ? new Array(value.length) : {});
  for (const key of keysOf(value)) copy[key] = cloned(value[key], seen);
  return copy;
}

lacking(O, "groupBy", function groupBy(items, keyOf) {
  const groups = O.create(null);
  let at = 0;
  for (const item of items) {
    const key = keyOf(item, at++);
    (groups[key] || (groups[key] = [])).push(item);
  }
  return groups;
});
lacking(Map, "groupBy", function groupBy(items, keyOf) {
  const groups = new Map();
  let at = 0;
  for (const item of items) {
    const key = keyOf(item, at++);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
});
lacking(P, "withResolvers", function withResolvers() {
  let resolve, reject;
  const promise = new P((yes, no) => { resolve = yes; reject = no; });
  return { promise, resolve, reject };
});
lacking(globalThis, "queueMicrotask", function queueMicrotask(job) { P.resolve().then(() => job()); });

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") {
    const bytes = unescape(encodeURIComponent(apply(wellFormed, Str(text), [])));
    return Uint8Array.from(bytes, (unit) => unit.charCodeAt(0));
  }
}
class TextDecoder {
  constructor(label = "utf-8", options = {}) {
    if (!/^utf-?8$/i.test(label)) throw new RangeErr("only utf-8 is known");
    this.fatal = options.fatal === true;
  }
  get encoding() { return "utf-8"; }
  decode(input = new Uint8Array()) {
    const bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
    let text = "";
    for (let i = 0; i < bytes.length;) {
      const lead = bytes[i], size = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
      let escaped = "";
      for (let at = i; at < i + size && at < bytes.length; at++) escaped += "%" + hexOf(bytes[at], 2);
      try {
        if (size === 0 || i + size > bytes.length) throw new TypeErr("the bytes are not utf-8");
        text += size === 1 ? Str.fromCharCode(lead) : decodeURIComponent(escaped);
        i += size;
      } catch (fault) {
        if (this.fatal) throw new TypeErr("the bytes are not utf-8");
        text += "\ufffd";
        i++;
      }
    }
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }
}
lacking(globalThis, "TextEncoder", TextEncoder);
lacking(globalThis, "TextDecoder", TextDecoder);

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
lacking(globalThis, "btoa", function btoa(text) {
  const units = Str(text);
  let out = "";
  for (let i = 0; i < units.length; i += 3) {
    const x = units.charCodeAt(i), y = units.charCodeAt(i + 1), z = units.charCodeAt(i + 2);
    if (x > 255 || y > 255 || z > 255) throw new RangeErr("btoa takes characters up to U+00FF");
    out += BASE64[x >> 2] + BASE64[(x & 3) << 4 | y >> 4] +
      (i + 1 < units.length ? BASE64[(y & 15) << 2 | z >> 6] : "=") + (i + 2 < units.length ? BASE64[z & 63] : "=");
  }
  return out;
});
lacking(globalThis, "atob", function atob(text) {
  const clean = Str(text).replace(/[\t\n\f\r ]/g, "").replace(/={1,2}$/, "");
  if (clean.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(clean)) throw new RangeErr("not base64");
  let out = "", bits = 0, held = 0;
  for (const unit of clean) {
    bits = (bits << 6 | BASE64.indexOf(unit)) & 0xffffff;
    held += 6;
    if (held >= 8) { held -= 8; out += Str.fromCharCode(bits >> held & 255); }
  }
  return out;
});
