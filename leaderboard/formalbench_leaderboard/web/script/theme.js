// Light or dark: as the system says, until the reader says otherwise.

function startTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page ${dark() ? "light" : "dark"}`);
  };
  const kept = remembered("theme");
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remember("theme", root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

// A browser may refuse to keep anything for a page from disk; then nothing is kept.
function remembered(name) {
  try {
    return localStorage.getItem(`formalbench-${name}`);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(`formalbench-${name}`, value);
  } catch {
    return;
  }
}
