// Brings the page up to date when jobs change. Without it everything works, by a reload.
"use strict";
(() => {
  const base = document.documentElement.dataset.base;
  const status = document.getElementById("live");
  if (!status || !window.EventSource) return;
  let due = null;
  let busy = false;
  const isInUse = () => {
    const at = document.activeElement;
    const types = at && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
    // What was chosen, and what was opened to be read, is not taken away.
    return types || document.querySelector("main input:checked, main details[open]");
  };
  const refresh = async () => {
    due = null;
    // Not under the hands of who types, and not for nobody.
    if (busy || document.hidden || isInUse()) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const main = fresh.querySelector("main");
        const focused = document.activeElement && document.activeElement.id;
        if (main) {
          document.querySelector("main").replaceWith(main);
          if (focused) document.getElementById(focused)?.focus();
        }
      }
    } finally {
      busy = false;
    }
  };
  const soon = () => { due ??= setTimeout(refresh, 1000); };
  const job = document.documentElement.dataset.job;
  const feed = new EventSource(base + "/api/v1/events" + (job ? "?job=" + encodeURIComponent(job) : ""));
  feed.addEventListener("hello", () => { status.textContent = "live"; });
  feed.addEventListener("job", soon);
  feed.addEventListener("missed", soon);
  feed.addEventListener("error", () => { status.textContent = "not live"; });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) soon(); });
})();
