// The tables: sorted, filtered, and what the board's cells show.

/** Return which board is shown, and its number. */
const shownIndex = () => Math.max(0, DATA.boards.findIndex((board) => board.name === asked.protocol));
const shownBoard = () => DATA.boards[shownIndex()];
const shownSection = () => document.querySelectorAll(".measured")[shownIndex()];

function startControls() {
  for (const [id, key] of LISTS) byId(id).addEventListener("change", () => ask({ [key]: byId(id).value }));
  byId("controls").hidden = DATA.boards.length === 0;
  byId("clear").addEventListener("click", () => {
    ask({ q: "", kind: "", class: "", hide: "" });
    byId("query").focus();
  });
}

/** The lists above the board, and what the address calls them. */
const LISTS = [["measure", "show"], ["kind", "kind"], ["class", "class"], ["protocol", "protocol"]];

let drawnBoard = null;

/** Show the board as the address says. */
function showAsked() {
  for (const [id, key] of [["query", "q"], ...LISTS])
    if (byId(id).value !== asked[key]) byId(id).value = asked[key];
  document.querySelectorAll(".measured").forEach((section, index) => (section.hidden = index !== shownIndex()));
  showHits();
  const [section, board] = [shownSection(), shownBoard()];
  if (!board) return;
  for (const show of [showMeasure, showClass, showSorted, showColumns, showFiltered]) show(section, board);
  if (drawnBoard === board) return;
  drawnBoard = board;
  for (const name of ["curves", "cost"]) showArticle(byId(`${name}-shown`), `${name}=${shownIndex()}`);
}

/** Return the headings of the columns that are hidden. */
const hiddenColumns = () => namesIn(asked.hide).filter(Boolean);

/** Check the box of each column that is shown. */
function showColumns(section) {
  section.querySelector(".columns").hidden = false;
  for (const box of section.querySelectorAll(".columns input")) box.checked = !hiddenColumns().includes(box.value);
}

function hideColumns(part) {
  const left = [...part.querySelectorAll("input:not(:checked)")];
  ask({ hide: left.map((box) => encodeURIComponent(box.value)).join(",") });
}

/** Hide the rows and the columns that were not asked for. */
function showFiltered(section, board) {
  const { models, tasks } = hitsOn(board);
  const wanted = (row) => (!models || models.has(row.model)) && (!asked.kind || row.kind === asked.kind);
  const rows = [...section.querySelectorAll(".board tbody tr")];
  for (const line of rows) line.hidden = !wanted(board.rows[line.dataset.row]);
  const classTasks = own(board.by_class, asked.class)?.tasks;
  const inClass = (task) => !asked.class || (classTasks ?? []).includes(task);
  const unwanted = hiddenColumns();
  const kept = board.tasks.filter((task) => inClass(task) && (!tasks || tasks.has(task)) && !unwanted.includes(task));
  const heads = [...section.querySelectorAll(".board thead th")];
  const hidden = heads.map(({ dataset: { name } }) => unwanted.includes(name) || (board.tasks.includes(name) && !kept.includes(name)));
  for (const line of section.querySelectorAll(".board tr"))
    [...line.cells].forEach((cell, index) => (cell.hidden = hidden[index]));
  const seen = rows.filter((line) => !line.hidden).length;
  byId("found").textContent = [some(seen, rows.length, "model"), some(kept.length, board.tasks.length, "task")].join(", ");
  if (asked.q.trim() && !models && !tasks) byId("found").textContent += "; the board has nothing of this name";
  byId("clear").hidden = !(asked.q || asked.kind || asked.class || asked.hide);
}

const some = (seen, all, noun) => `${seen === all ? all : `${seen} of ${all}`} ${noun}${all === 1 ? "" : "s"}`;

/** Show ranks and scores on the tasks of the chosen class; Python computed them. */
function showClass(section, board) {
  if ((section.dataset.class ?? "") === asked.class) return;
  section.dataset.class = asked.class;
  const within = own(board.by_class, asked.class);
  const heads = [...section.querySelectorAll(".board thead th")];
  const order = Object.keys(within?.rows ?? {});
  for (const line of section.querySelectorAll(".board tbody tr")) {
    const { model } = board.rows[line.dataset.row];
    const values = within && own(within.rows, model);
    line.dataset.place = values ? order.indexOf(model) : order.length + Number(line.dataset.row);
    heads.forEach(({ dataset: { name } }, column) => {
      const [cell, place] = [line.cells[column], within ? within.headings.indexOf(name) : -1];
      if (place >= 0) {
        cell.whole ??= { parts: [...cell.childNodes], sort: cell.dataset.sort };
        const [text, sort] = values?.[place] ?? [MISSING, ""];
        cell.replaceChildren(text || MISSING);
        cell.dataset.sort = sort ?? "";
      } else if (cell.whole) {
        cell.replaceChildren(...cell.whole.parts);
        cell.dataset.sort = cell.whole.sort;
      }
    });
  }
}

/** Show another measure in the cells of the board, by the name of a result's cell; without one, the mean as Python wrote it. */
function showMeasure(section, board) {
  const name = byId("measure").value;
  if ((section.dataset.shown ?? "") === name) return;
  section.dataset.shown = name;
  eachCell(section, board, (cell, result) => {
    cell.mean ??= { text: cell.firstChild, sort: cell.dataset.sort };
    const text = name && cellOf(result, name).textContent;
    cell.firstChild.replaceWith(text || cell.mean.text);
    cell.dataset.sort = name ? text.replace(MISSING, "") : cell.mean.sort;
  });
}

/** Call a function with the cell of each result of accuracy in some rows of a board. */
function eachCell(part, board, act) {
  const names = [...part.closest(".measured").querySelectorAll(".board thead th")].map((head) => head.dataset.name);
  for (const line of part.matches("tr") ? [part] : part.querySelectorAll(".board tbody tr"))
    names.forEach((name, column) => {
      const result = board.tasks.includes(name) && !board.texts.includes(name) ? own(board.rows[line.dataset.row].results, name) : undefined;
      if (result !== undefined) act(line.cells[column], result);
    });
}

/** Add the seeds of each result behind its number, when the row comes into sight. */
function startCells() {
  const sections = [...document.querySelectorAll(".measured")];
  const drawCells = (line) => {
    seen.unobserve(line);
    eachCell(line, DATA.boards[sections.indexOf(line.closest(".measured"))], (cell, result) => {
      const seeds = cell.querySelector(".seeds") ? null : seedsOf(result);
      if (!seeds) return;
      cell.title = seeds.getAttribute("aria-label");
      cell.append(seeds);
    });
  };
  const seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => drawCells(target)), { rootMargin: "50% 0px" });
  const lines = [...document.querySelectorAll(".board tbody tr")];
  for (const line of lines) seen.observe(line);
  addEventListener("beforeprint", () => lines.forEach(drawCells));
}

/** Sort by the head that was clicked: the board by the address, any other table at once. */
function sortByClick(head) {
  const other = { ascending: "descending", descending: "ascending" };
  const direction = other[head.getAttribute("aria-sort")] ?? head.dataset.first ?? "descending";
  if (!head.closest(".board")) return sortTable(head, direction);
  ask({ sort: `${direction === "descending" ? "-" : ""}${head.dataset.name}` });
}

function showSorted(section) {
  const heads = [...section.querySelectorAll(".board thead th")];
  const named = (name) => heads.find((head) => head.dataset.name === name);
  const down = asked.sort.startsWith("-") ? named(asked.sort.slice(1)) : undefined;
  const up = named(asked.sort) ?? named("rank");
  if (down ?? up) sortTable(down ?? up, down ? "descending" : "ascending");
}

/** Sort the rows of a table by a column; what has no value comes last, and ties stay as Python had them. */
function sortTable(head, direction) {
  const table = head.closest("table");
  const column = head.cellIndex;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, place) => ({ row, place: Number((row.dataset.place ??= place)), key: keyOf(row.cells[column]) }));
  const sign = direction === "descending" ? -1 : 1;
  rows.sort((a, b) => {
    if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "") || a.place - b.place;
    return sign * ((a.key > b.key) - (a.key < b.key)) || a.place - b.place;
  });
  body.append(...rows.map(({ row }) => row));
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
}

/** Return what a cell is sorted by: its own key, or else the number that it begins with, or its text. */
function keyOf({ dataset, textContent, tagName }) {
  const text = (dataset.sort ?? textContent).trim();
  if (tagName === "TH" || text === "") return text;
  const number = Number.parseFloat(text.replaceAll(",", "").replace("−", "-"));
  return text === MISSING ? "" : isNaN(number) ? text : number;
}
