// Runs in the head, before anything is painted: who chose dark never sees the page light first.

(() => {
  "use strict";
  try {
    const kept = localStorage.getItem("formalbench-theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    return; // A browser may refuse to keep anything for a page from disk; then the system says.
  }
})();
