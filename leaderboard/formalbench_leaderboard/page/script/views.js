// Which view is shown: the address says so, so that Back works and a link can be sent.
//
//   #task=parity   #model=lstm   #compare=lstm,gru   ?m=lstm,gru (the same as #compare)

const TITLE = document.title;
let shownPlace = null;

function route(moved) {
  const { kind, names } = viewAsked();
  const place = JSON.stringify([kind, names, kind ? "" : location.hash]);
  if (place === shownPlace) return; // what else the address says is the board's
  shownPlace = place;
  const [overview, view] = [byId("overview"), byId("view")];
  overview.hidden = Boolean(kind);
  view.hidden = !kind;
  document.title = kind ? `${names.join(", ")} · ${TITLE}` : TITLE;
  if (!kind) {
    view.replaceChildren();
    if (moved && location.hash) byId(location.hash.slice(1))?.scrollIntoView();
    return;
  }
  if (kind === "compare") compareView(view, names);
  else if (!showArticle(view, `${kind}=${names.join(",")}`)) view.replaceChildren(...notFound(kind, names.join(", ")));
  if (moved) {
    scrollTo(0, 0);
    view.querySelector("h1").focus({ preventScroll: true });
  }
}

/** Return which view the address asks for, and of what. */
function viewAsked() {
  const [, kind, text] = /^#(task|model|compare)=(.*)$/s.exec(location.hash) ?? [];
  if (kind) return { kind, names: namesIn(text) };
  const compared = /[?&]m=([^&]+)/.exec(location.search);
  return compared && !location.hash ? { kind: "compare", names: namesIn(compared[1]) } : { kind: null, names: [] };
}

/** Split at commas; those inside a name are escaped, or stand in its brackets. */
const namesIn = (text) => text.split(/,(?![^[]*\])/).map(decoded);

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Show a view that Python made; return whether there is one of this name. */
function showArticle(place, name) {
  const article = ARTICLES.get(name);
  if (!article) return false;
  place.replaceChildren(...document.importNode(article, true).childNodes);
  fillTables(place);
  for (const form of place.querySelectorAll("[data-compare]")) form.replaceWith(compareForm([form.dataset.compare]));
  for (const part of place.querySelectorAll("[data-choice]")) fillChooser(part);
  for (const part of place.querySelectorAll(".curves")) drawCurves(part);
  for (const part of place.querySelectorAll(".charts[data-model]")) {
    const { board, model } = part.dataset;
    part.append(...figuresOf(board, [model]));
    for (const figure of part.children) drawFigure(figure, [model], true);
  }
  for (const part of place.querySelectorAll("[data-commands]"))
    for (const result of part.dataset.commands.split(" ")) {
      const line = byId("compared").content.querySelector(".copyable").cloneNode(true);
      line.firstElementChild.textContent = cellOf(result, "command").textContent;
      part.append(line);
    }
  return true;
}

/** Copy the cells of results into the tables that name them. */
function fillTables(part) {
  for (const body of part.querySelectorAll("[data-cells]")) {
    for (const result of body.dataset.results?.split(" ") ?? []) body.append(make("tr", { "data-result": result }));
    for (const row of body.rows)
      row.append(...body.dataset.cells.split(" ").map((name) => copyOf(row.dataset.result, name)));
  }
  for (const svg of part.querySelectorAll("svg.strip")) drawStrip(svg);
}

function notFound(kind, name) {
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board")),
    make("h1", { tabindex: -1 }, name),
    make("p", { class: "lead" }, `There is no ${kind} of this name here.`),
  ];
}

/** Copy the line of code beside a button. */
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
});
document.addEventListener("change", ({ target }) => {
  if (target.matches(".curves input")) drawCurves(target.closest(".curves"));
  if (target.matches(".columns input")) hideColumns(target.closest(".columns"));
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.matches(".compare")) openComparison(event.target);
});
// A large drawing comes packed; without a script the page says how to make it.
for (const place of document.querySelectorAll("[data-packed]")) {
  const drawn = new DOMParser().parseFromString(await unpacked(place.dataset.packed), "image/svg+xml");
  place.replaceChildren(document.importNode(drawn.documentElement, true));
}
startTheme();
startSearch();
startControls();
startCells();
startComparison();
readAddress();
showAsked();
route(false);
addEventListener("popstate", () => {
  readAddress();
  showAsked();
  route(true);
});
document.documentElement.dataset.ready = "";
