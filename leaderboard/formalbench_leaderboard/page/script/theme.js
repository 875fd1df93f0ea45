// Light or dark: as the system says, until the reader says otherwise. This runs in the head, before
// anything is painted: who chose dark never sees the page light first.

{
  const { dataset } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const other = () => ((dataset.theme || (system.matches ? "dark" : "light")) === "dark" ? "Light" : "Dark");

  try {
    dataset.theme = localStorage.getItem("formalbench-theme") ?? "";
  } catch {
    // A browser may refuse to keep anything for a page from disk; then the system says.
  }

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      button.textContent = other();
      button.setAttribute("aria-label", `Show the page ${other().toLowerCase()}`);
    };
    button.addEventListener("click", () => {
      dataset.theme = other().toLowerCase();
      show();
      localStorage.setItem("formalbench-theme", dataset.theme); // last, since a browser may refuse it
    });
    system.addEventListener("change", show);
    show();
  });
}
