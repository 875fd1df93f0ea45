// Which view is shown: the address says so, so that Back works and a link can be sent.
//
//   #task=parity   #model=lstm   #compare=lstm,gru   ?m=lstm,gru (the same as #compare)

const TITLE = document.title;
let shownPlace = null;

/** Show what the address says. */
function route(moved) {
  readAddress();
  showAsked();
  const { kind, names } = viewAsked();
  const place = JSON.stringify([kind, names, kind ? "" : location.hash]);
  if (place === shownPlace) return; // what else the address says is the board's
  shownPlace = place;
  const [overview, view] = [byId("overview"), byId("view")];
  overview.hidden = Boolean(kind);
  view.hidden = !kind;
  document.title = kind ? `${names.join(", ")} · ${TITLE}` : TITLE;
  if (!kind) view.replaceChildren();
  else if (kind === "compare") compareView(view, names);
  else if (!showArticle(view, `${kind}=${names.join(",")}`)) {
    showArticle(view, "nothing");
    view.querySelector("h1").textContent = names.join(", ");
    view.querySelector("span").textContent = kind;
  }
  if (moved && kind) {
    scrollTo(0, 0);
    view.querySelector("h1").focus({ preventScroll: true });
  } else if (moved && location.hash) byId(location.hash.slice(1))?.scrollIntoView();
}

/** Return which view the address asks for, and of what. */
function viewAsked() {
  const [, kind, text] = /^#(task|model|compare)=(.*)$/s.exec(location.hash) ?? [];
  if (kind) return { kind, names: namesIn(text) };
  return asked.m && !location.hash ? { kind: "compare", names: namesIn(asked.m) } : { kind: null, names: [] };
}

/** Split at commas; those inside a name are escaped, or stand in its brackets. A sign that escapes nothing stays. */
const namesIn = (text) =>
  text.split(/,(?![^[]*\])/).map((name) => new URLSearchParams(`=${name.replace(/[+&]/g, encodeURIComponent)}`).get(""));

/** Show a view that Python made; return whether there is one of this name. */
function showArticle(place, name) {
  const article = ARTICLES.get(name);
  if (!article) return false;
  place.replaceChildren(...document.importNode(article, true).childNodes);
  fillTables(place);
  fillParts(place);
  for (const form of place.querySelectorAll("[data-compare]")) form.replaceWith(compareForm([form.dataset.compare]));
  for (const part of place.querySelectorAll(".curves")) drawCurves(part);
  for (const figure of place.querySelectorAll("[data-model] > figure")) drawFigure(figure, [figure.parentNode.dataset.model], true);
  return true;
}

/** Copy the cells of results into the tables that name them. */
function fillTables(part) {
  for (const body of part.querySelectorAll("[data-cells]")) {
    if (!body.rows.length) body.append(...resultsOf(body).map((result) => make("tr", { "data-result": result })));
    for (const row of body.rows)
      row.append(...body.dataset.cells.split(" ").map((name) => copyOf(row.dataset.result, name)));
  }
  for (const svg of part.querySelectorAll("svg.strip")) drawStrip(svg);
}

const resultsOf = (part) => part.closest("[data-results]").dataset.results.split(" ").filter(Boolean);

/** Copy the chips, figures or commands of results to where they are named. */
function fillParts(place) {
  for (const part of place.querySelectorAll("[data-parts]"))
    for (const result of resultsOf(part)) {
      const { children, firstElementChild } = copyOf(result, part.dataset.parts);
      part.append(...children);
      if (part.dataset.chosen?.split(" ").includes(result)) firstElementChild.control.checked = true;
    }
}

async function copyLine(button) {
  const [code, said] = [button.previousElementSibling, button.nextElementSibling];
  try {
    await navigator.clipboard.writeText(code.textContent);
    said.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(code); // a browser may keep the clipboard to itself
    said.textContent = "selected: copy it with your keyboard";
  }
}

document.addEventListener("click", ({ target }) => {
  if (target.closest(".copyable button")) copyLine(target.closest("button"));
  if (target.closest(".compare [type=button]")) addModel(target.form);
  if (target.closest("thead button")) sortByClick(target.closest("th"));
  if (target.id === "clear") clearFilters();
});
document.addEventListener("change", ({ target }) => {
  if (target.matches(".curves .chip input")) drawCurves(target.closest(".curves"));
  if (target.matches(".columns input")) hideColumns(target.closest(".columns"));
  if (target.matches("#controls select")) ask({ [target.name]: target.value });
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.matches(".compare")) location.hash = address("compare", ...new FormData(event.target).getAll("model").filter(Boolean));
  if (event.target.id === "search") byId("hits").querySelector("a")?.click();
});
// A large drawing comes packed; without a script the page says how to make it.
for (const place of document.querySelectorAll("[data-packed]"))
  place.replaceChildren(...(await unpackedPage(place.dataset.packed)).body.children);
startSearch();
startCells();
route(false);
addEventListener("popstate", () => route(true));
document.documentElement.dataset.ready = "";
