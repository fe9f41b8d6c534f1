// Language builtins that came after 2021, for quickjs 1.19.4; quickjs-ng has them all.
const own = (name, value) => lacking(O, name, value);
own("hasOwn", function (target, key) { return hasOwn(O(target), key); });
const place = (length, at) => { const whole = trunc(at) || 0; return whole < 0 ? length + whole : whole; };
for (const Base of [Array, Str, O.getPrototypeOf(Uint8Array)]) {
  lacking(Base.prototype, "at", function at(index) { return this[place(this.length, index)]; });
}
lacking(Str.prototype, "isWellFormed", isWellFormed);
lacking(Str.prototype, "toWellFormed", wellFormed);
const seek = (items, test, self) => {
  for (let i = items.length - 1; i >= 0; i--) if (apply(test, self, [items[i], i, items])) return i;
  return -1;
};
const later = {
  findLast(test, self) { return this[seek(this, test, self)]; },
  findLastIndex(test, self) { return seek(this, test, self); },
  toSorted(order) { return [...this].sort(order); },
  toReversed() { return [...this].reverse(); },
  toSpliced(...given) { const copy = [...this]; copy.splice(...given); return copy; },
  with(index, value) {
    const copy = [...this], at = place(copy.length, index);
    if (at < 0 || at >= copy.length) throw new RangeErr("Invalid index");
    copy[at] = value;
    return copy;
  },
};
for (const name of keysOf(later)) lacking(Array.prototype, name, later[name]);
lacking(Array, "fromAsync", async function fromAsync(items, change) {
  const out = [];
  for await (const item of items) out.push(change === undefined ? item : await change(item, out.length));
  return out;
});
lacking(P, "try", function (run, ...given) { return new P((resolve) => resolve(run(...given))); });
const sets = {
  union(other) { return new Set([...this, ...other.keys()]); },
  intersection(other) { return new Set([...this].filter((item) => other.has(item))); },
  difference(other) { return new Set([...this].filter((item) => !other.has(item))); },
  symmetricDifference(other) { return new Set([...[...this].filter((item) => !other.has(item)), ...[...other.keys()].filter((item) => !this.has(item))]); },
  isSubsetOf(other) { return [...this].every((item) => other.has(item)); },
  isSupersetOf(other) { return [...other.keys()].every((item) => this.has(item)); },
  isDisjointFrom(other) { return ![...this].some((item) => other.has(item)); },
};
for (const name of keysOf(sets)) lacking(Set.prototype, name, sets[name]);
lacking(Error, "isError", isError);
lacking(RegExp, "escape", function (text) { return Str(text).replace(/[\\^$.*+?()[\]{}|\/-]/g, "\\$&"); });
