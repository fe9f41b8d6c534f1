/* Keeps parts of a page fresh: fetches the page again, swaps what changed, keeps ticks, focus and what is open. */
"use strict";
(() => {
  const PERIOD = Number(document.currentScript.dataset.period) || 5000;
  const PAGE = document.currentScript.dataset.page || location.href; // a refused form's own address takes no GET
  const selectors = document.currentScript.dataset.parts.split(",").map((text) => text.trim());
  const said = document.getElementById("forge-fresh");
  const last = new Map();
  const ticked = (root) => new Set([...root.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.value));

  function focusIn(part) {
    const at = document.activeElement;
    if (!part.contains(at)) return null;
    const key = at.getAttribute("value") ?? at.getAttribute("href") ?? at.id;
    return (fresh) => [...fresh.querySelectorAll(at.tagName)]
      .find((el) => key === (el.getAttribute("value") ?? el.getAttribute("href") ?? el.id));
  }

  function swap(part, fresh) {
    const ticks = ticked(part);
    const find = focusIn(part);
    const open = [...part.querySelectorAll("details")].map((el) => el.open);
    const scrolled = [...part.querySelectorAll("[tabindex]")].map((el) => [el.scrollLeft, el.scrollTop]);
    const made = document.importNode(fresh, true);
    made.querySelectorAll("input[type=checkbox]").forEach((box) => { box.checked = ticks.delete(box.value); });
    made.querySelectorAll("details").forEach((el, n) => { el.open = open[n] ?? el.open; });
    part.replaceWith(made);
    made.querySelectorAll("[tabindex]").forEach((el, n) => { [el.scrollLeft, el.scrollTop] = scrolled[n] ?? [0, 0]; });
    find?.(made)?.focus({ preventScroll: true });
    return ticks.size;
  }

  function refresh(page) {
    let gone = 0;
    for (const selector of selectors) {
      const part = document.querySelector(selector);
      const fresh = page.querySelector(selector);
      if (!part || !fresh || last.get(selector) === fresh.innerHTML) continue;
      if (last.has(selector)) {
        gone += swap(part, fresh);
        if (said && fresh.dataset.news && fresh.dataset.news !== part.dataset.news) said.textContent = fresh.dataset.news;
      }
      last.set(selector, fresh.innerHTML);
    }
    if (gone && said) said.textContent = `${gone} chosen ${gone === 1 ? "request waits" : "requests wait"} no more.`;
    count();
  }

  async function look() {
    if (document.hidden) return;
    try {
      const answer = await fetch(PAGE, { headers: { "X-Requested-With": "fetch" } });
      if (answer.redirected || answer.status === 403) {
        if (said) said.textContent = "This page is no longer kept fresh: log in again.";
        clearInterval(timer);
        return;
      }
      if (answer.ok) refresh(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* the network is away: the next look may find it */ }
  }

  function count() {
    const shown = document.getElementById("forge-chosen");
    const chosen = document.querySelectorAll("input[name=chosen]:checked").length;
    if (shown) shown.textContent = chosen ? `${chosen} chosen` : "";
  }

  const all = document.getElementById("forge-choose-all");
  if (all) {
    all.hidden = false;
    all.addEventListener("click", () => {
      const boxes = [...document.querySelectorAll("input[name=chosen]")];
      const rest = boxes.some((box) => !box.checked);
      boxes.forEach((box) => { box.checked = rest; });
      count();
    });
  }
  document.addEventListener("change", count);
  count();
  refresh(document);
  const timer = setInterval(look, PERIOD);
})();
