// Light or dark: as the system says, until the reader says otherwise (first_paint.js reads what they said).

function startTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page ${dark() ? "light" : "dark"}`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    keepTheme(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

// A browser may refuse to keep anything for a page from disk; then nothing is kept.
function keepTheme(theme) {
  try {
    localStorage.setItem("formalbench-theme", theme);
  } catch {
    return;
  }
}
