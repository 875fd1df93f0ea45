// The tables: sorted, filtered, and what the board's cells show.

const MEASURES = {
  mean: { text: "mean accuracy", value: (r) => r.mean, show: percent },
  max: { text: "best seed", value: (r) => r.max, show: percent },
  scaled: { text: "scaled accuracy", value: (r) => r.scaled, show: percent },
  longest_99: { text: "≥ 99 % up to length", value: (r) => r.longest_99, show: (n) => n ?? MISSING },
  longest_90: { text: "≥ 90 % up to length", value: (r) => r.longest_90, show: (n) => n ?? MISSING },
};

const measureKey = () => (Object.hasOwn(MEASURES, asked.show) ? asked.show : "mean");

/** Return which board is shown, and its number. */
const shownIndex = () => Math.max(0, DATA.boards.findIndex((board) => board.name === asked.protocol));
const shownBoard = () => DATA.boards[shownIndex()];
const shownSection = () => document.querySelectorAll(".measured")[shownIndex()];

function startControls() {
  const rows = DATA.boards.flatMap((board) => board.rows);
  const kinds = different(rows.map((row) => row.kind)).sort();
  const classes = classesShown();
  const boards = DATA.boards.map((board) => board.name);
  fill("measure", "show", Object.entries(MEASURES).map(([key, { text }]) => [key === "mean" ? "" : key, text]));
  fill("kind", "kind", kinds.map((kind) => [kind, kind]), kinds.length > 1);
  fill("class", "class", classes.map((name) => [name, name]), classes.length > 1);
  fill("protocol", "protocol", boards.map((name, index) => [index ? name : "", name]), boards.length > 1);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").hidden = DATA.boards.length === 0;
  byId("clear").addEventListener("click", () => {
    ask({ q: "", kind: "", class: "", hide: "" });
    byId("query").focus();
  });
  document.addEventListener("click", sortByClick);
}

/** Return the classes of the boards' tasks, the smallest first, then keywords that several tasks share. */
const classesShown = () => DATA.classes.filter((name) => DATA.boards.some((board) => Object.hasOwn(board.by_class, name)));

const different = (values) => [...new Set(values)];

/** Give a list its choices, [value, text]; one without a choice is not shown. */
function fill(id, key, choices, useful = true) {
  byId(id).append(...choices.map(([value, text]) => make("option", { value }, text)));
  byId(id).addEventListener("change", () => ask({ [key]: byId(id).value }));
  byId(id).closest(".field").hidden = !useful;
}

let drawnBoard = null;

/** Show the board as the address says. */
function showAsked() {
  for (const [id, key] of [["query", "q"], ["measure", "show"], ["kind", "kind"], ["class", "class"], ["protocol", "protocol"]])
    if (byId(id).value !== asked[key]) byId(id).value = asked[key];
  document.querySelectorAll(".measured").forEach((section, index) => {
    section.hidden = index !== shownIndex();
  });
  if (!shownBoard()) return showHits();
  showMeasure(shownSection(), shownBoard());
  showClass(shownSection(), shownBoard());
  showSorted(shownSection());
  showColumns(shownSection());
  showHits();
  showFiltered(shownSection(), shownBoard());
  if (drawnBoard !== shownBoard()) {
    drawnBoard = shownBoard();
    boardChanged();
  }
}

/** Return the headings of the columns that are hidden. */
const hiddenColumns = () => namesIn(asked.hide).filter(Boolean);

let offered = "";

/** Show a check box for each column of the board but the model's name. */
function showColumns(section) {
  const names = [...section.querySelectorAll(".board thead th:not(.name)")].map((head) => head.dataset.name);
  if (offered !== names.join("\n")) {
    offered = names.join("\n");
    const boxes = names.map((name) => make("label", { class: "chip plain" }, make("input", { type: "checkbox", value: name, on: { change: hideColumns } }), make("span", {}, name)));
    byId("columns").lastElementChild.replaceChildren(make("legend", {}, "Shown"), ...boxes);
  }
  byId("columns").hidden = false;
  for (const box of byId("columns").querySelectorAll("input")) box.checked = !hiddenColumns().includes(box.value);
}

function hideColumns() {
  const left = [...byId("columns").querySelectorAll("input:not(:checked)")];
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

function showMeasure(section, board) {
  const key = measureKey();
  if ((section.dataset.shown ?? "mean") === key) return;
  section.dataset.shown = key;
  const measure = MEASURES[key];
  const heads = [...section.querySelectorAll(".board thead th")];
  for (const line of section.querySelectorAll(".board tbody tr")) {
    heads.forEach(({ dataset }, column) => {
      if (!board.tasks.includes(dataset.name)) return;
      const result = own(board.rows[line.dataset.row].results, dataset.name);
      if (result && result.shown == null) setCell(line.cells[column], measure.value(result), cellText(result, measure));
    });
  }
}

/** Return the text of a cell: of a mean that was not learned, the validation accuracy. */
function cellText(result, measure) {
  if (measure !== MEASURES.mean) return measure.show(measure.value(result));
  if (unlearned(result)) return `[${percent(result.validation)}]`;
  return percent(result.mean) + (partly(result) ? "°" : "") + (result.weak ? "~" : "");
}

function setCell(cell, value, text) {
  cell.firstChild.textContent = text;
  cell.dataset.sort = value ?? "";
}

/** Sort by the head that was clicked: the board by the address, any other table at once. */
function sortByClick(event) {
  const button = event.target.closest("thead button");
  if (!button) return;
  const head = button.closest("th");
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

const keyOf = ({ dataset, textContent }) => (dataset.sort === undefined ? textContent : dataset.sort === "" || isNaN(dataset.sort) ? dataset.sort : Number(dataset.sort));
