// URL and URLSearchParams, enough for what agents do: parse, resolve, read and change parts. No punycode, no special IPv4 forms.
const form = (text) => encodeURIComponent(apply(wellFormed, Str(text), [])).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
function unform(text) {
  const spaced = text.replace(/\+/g, " ");
  try { return decodeURIComponent(spaced); } catch (fault) { return spaced; }
}

class URLSearchParams {
  #pairs = [];
  #changed = null;
  constructor(from = "", changed = null) {
    this.#changed = typeof changed === "function" ? changed : null;
    if (typeof from === "string") {
      for (const part of from.replace(/^\?/, "").split("&")) {
        if (part === "") continue;
        const at = part.indexOf("=");
        this.#pairs.push(at < 0 ? [unform(part), ""] : [unform(part.slice(0, at)), unform(part.slice(at + 1))]);
      }
    } else if (from !== null && typeof from[Symbol.iterator] === "function") {
      for (const [name, value] of from) this.#pairs.push([Str(name), Str(value)]);
    } else {
      for (const name of keysOf(from)) this.#pairs.push([name, Str(from[name])]);
    }
  }
  #tell() { if (this.#changed !== null) this.#changed(this.toString()); }
  get size() { return this.#pairs.length; }
  get(name) { const pair = this.#pairs.find((one) => one[0] === Str(name)); return pair === undefined ? null : pair[1]; }
  getAll(name) { return this.#pairs.filter((one) => one[0] === Str(name)).map((one) => one[1]); }
  has(name, value) { return this.#pairs.some((one) => one[0] === Str(name) && (value === undefined || one[1] === Str(value))); }
  append(name, value) { this.#pairs.push([Str(name), Str(value)]); this.#tell(); }
  delete(name, value) {
    this.#pairs = this.#pairs.filter((one) => one[0] !== Str(name) || (value !== undefined && one[1] !== Str(value)));
    this.#tell();
  }
  set(name, value) {
    const at = this.#pairs.findIndex((one) => one[0] === Str(name));
    if (at < 0) return this.append(name, value);
    this.#pairs[at][1] = Str(value);
    this.#pairs = this.#pairs.filter((one, i) => i <= at || one[0] !== Str(name));
    return this.#tell();
  }
  sort() { this.#pairs.sort((x, y) => (x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0)); this.#tell(); }
  forEach(visit, self) { for (const [name, value] of [...this.#pairs]) apply(visit, self, [value, name, this]); }
  keys() { return this.#pairs.map((one) => one[0]).values(); }
  values() { return this.#pairs.map((one) => one[1]).values(); }
  entries() { return this.#pairs.map((one) => [one[0], one[1]]).values(); }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map((one) => form(one[0]) + "=" + form(one[1])).join("&"); }
}

const PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21" };
const badUrl = (text) => new TypeErr("Invalid URL: " + shortened(Str(text), 200));
const quoted = (text) => text.replace(/[^\x21-\x7e]|["<>`]/gu, (c) => encodeURIComponent(apply(wellFormed, c, [])));

function splitUrl(text) {
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text);
  if (scheme === null) return null;
  const parts = { protocol: scheme[1].toLowerCase() + ":", username: "", password: "", hostname: "", port: "", pathname: "", search: "", hash: "", special: false };
  parts.special = parts.protocol in PORTS;
  let rest = text.slice(scheme[0].length);
  const hash = rest.indexOf("#");
  if (hash >= 0) { parts.hash = quoted(rest.slice(hash)); rest = rest.slice(0, hash); }
  const query = rest.indexOf("?");
  if (query >= 0) { parts.search = quoted(rest.slice(query)); rest = rest.slice(0, query); }
  if (parts.special) rest = "//" + rest.replace(/\\/g, "/").replace(/^\/+/, "");
  if (!rest.startsWith("//")) { parts.pathname = quoted(rest); return parts; }
  const host = /^\/\/(?:([^/@:]*)(?::([^/@]*))?@)?(\[[0-9a-fA-F:.]+\]|[^/:@\s<>^|%]*)(?::([0-9]*))?(?=\/|$)/.exec(rest);
  if (host === null || (parts.special && host[3] === "") || +(host[4] || 0) > 65535) throw badUrl(text);
  parts.username = quoted(host[1] || "");
  parts.password = quoted(host[2] || "");
  parts.hostname = parts.special ? host[3].toLowerCase() : host[3];
  parts.port = host[4] && PORTS[parts.protocol] !== Str(+host[4]) ? Str(+host[4]) : "";
  parts.pathname = cleanPath(rest.slice(host[0].length), parts.special);
  return parts;
}
function cleanPath(path, special) {
  const out = [], steps = quoted(path).split("/");
  steps.forEach((step, i) => {
    const last = i === steps.length - 1;
    if (step === "..") { if (out.length > 1) out.pop(); if (last) out.push(""); }
    else if (step === ".") { if (last) out.push(""); }
    else out.push(step);
  });
  const clean = out.join("/");
  return clean === "" && special ? "/" : clean;
}
function resolveUrl(text, base) {
  if (text === "") return { ...base, hash: "" };
  if (text.startsWith("#")) return { ...base, hash: quoted(text) };
  const at = base.protocol + "//" + (base.username ? base.username + (base.password ? ":" + base.password : "") + "@" : "") + base.hostname + (base.port ? ":" + base.port : "");
  if (text.startsWith("//")) return splitUrl(base.protocol + text);
  if (text.startsWith("/")) return splitUrl(at + text);
  if (text.startsWith("?")) return splitUrl(at + base.pathname + text);
  return splitUrl(at + base.pathname.replace(/[^/]*$/, "") + text);
}

class URL {
  #parts;
  #params;
  constructor(text, base) {
    const trimmed = Str(text).trim().replace(/[\t\n\r]/g, "");
    let parts = splitUrl(trimmed);
    if (parts === null && base !== undefined) {
      const under = splitUrl(Str(base).trim());
      if (under === null || (under.hostname === "" && under.protocol !== "file:")) throw badUrl(text);
      parts = resolveUrl(trimmed, under);
    }
    if (parts === null) throw badUrl(text);
    this.#parts = parts;
    if (parts.search === "?") parts.search = "";
    if (parts.hash === "#") parts.hash = "";
    this.#params = new URLSearchParams(parts.search, (query) => { parts.search = query === "" ? "" : "?" + query; });
  }
  static canParse(text, base) { try { return Boolean(new URL(text, base)); } catch (fault) { return false; } }
  static parse(text, base) { try { return new URL(text, base); } catch (fault) { return null; } }
  get protocol() { return this.#parts.protocol; }
  get username() { return this.#parts.username; }
  get password() { return this.#parts.password; }
  get hostname() { return this.#parts.hostname; }
  get port() { return this.#parts.port; }
  get host() { return this.#parts.hostname + (this.#parts.port ? ":" + this.#parts.port : ""); }
  get origin() { return this.#parts.special ? this.#parts.protocol + "//" + this.host : "null"; }
  get pathname() { return this.#parts.pathname; }
  set pathname(path) { this.#parts.pathname = cleanPath((Str(path).startsWith("/") ? "" : "/") + Str(path), true); }
  get search() { return this.#parts.search; }
  set search(query) {
    const text = Str(query).replace(/^\?/, "");
    this.#parts.search = text === "" ? "" : "?" + quoted(text);
    this.#params = new URLSearchParams(text, (changed) => { this.#parts.search = changed === "" ? "" : "?" + changed; });
  }
  get hash() { return this.#parts.hash; }
  set hash(text) { const bare = Str(text).replace(/^#/, ""); this.#parts.hash = bare === "" ? "" : "#" + quoted(bare); }
  get searchParams() { return this.#params; }
  get href() {
    const p = this.#parts, login = p.username ? p.username + (p.password ? ":" + p.password : "") + "@" : "";
    const slashes = p.special || p.hostname !== "" || p.protocol === "file:" ? "//" : "";
    return p.protocol + slashes + login + this.host + p.pathname + p.search + p.hash;
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
}
lacking(globalThis, "URL", URL);
lacking(globalThis, "URLSearchParams", URLSearchParams);
