// The tables: sorted, filtered, and what the board's cells show.

function clearFilters() {
  ask({ q: "", kind: "", class: "", hide: "" });
  byId("query").focus();
}

let drawnBoard = null;

/** Show the board as the address says. */
function showAsked() {
  for (const field of document.querySelectorAll("#query, #controls select"))
    if (field.value !== asked[field.name]) field.value = asked[field.name];
  showHits();
  const place = Math.max(0, DATA.boards.findIndex(({ name }) => name === asked.protocol));
  const [board, sections] = [DATA.boards[place], [...document.querySelectorAll(".measured")]];
  if (!board) return;
  const section = sections[place];
  for (const one of sections) one.hidden = one !== section;
  for (const show of [showMeasure, showClass, showSorted, showColumns, showFiltered]) show(section, board);
  if (drawnBoard === board) return;
  drawnBoard = board;
  for (const name of ["curves", "cost"]) showArticle(byId(`${name}-shown`), `${name}=${place}`);
}

const hiddenColumns = () => namesIn(asked.hide).filter(Boolean);

function showColumns(section) {
  for (const box of section.querySelectorAll(".columns input")) box.checked = !hiddenColumns().includes(box.value);
}

function hideColumns(part) {
  const hidden = [...part.querySelectorAll("input:not(:checked)")].map((box) => encodeURIComponent(box.value));
  ask({ hide: hidden.join(",") });
}

/** Hide the rows and the columns that were not asked for. */
function showFiltered(section, board) {
  const { models, tasks } = hitsOn(board);
  const wanted = (row) => (!models || models.has(row.model)) && (!asked.kind || row.kind === asked.kind);
  const rows = [...section.querySelectorAll(".board tbody tr")];
  for (const line of rows) line.hidden = !wanted(board.rows[line.dataset.row]);
  const inClass = asked.class ? (board.by_class[asked.class]?.tasks ?? []) : board.tasks;
  const unwanted = hiddenColumns();
  const kept = board.tasks.filter((task) => inClass.includes(task) && (!tasks || tasks.has(task)) && !unwanted.includes(task));
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
  const within = board.by_class[asked.class];
  const names = [...section.querySelectorAll(".board thead th")].map((head) => head.dataset.name);
  const order = Object.keys(within?.rows ?? {});
  for (const line of section.querySelectorAll(".board tbody tr")) {
    const { model } = board.rows[line.dataset.row];
    const values = within?.rows[model];
    line.dataset.place = values ? order.indexOf(model) : order.length + Number(line.dataset.row);
    for (const [place, heading] of board.standing.entries()) {
      const cell = line.cells[names.indexOf(heading)];
      if (!cell) continue; // a column that the page leaves out
      cell.whole ??= { parts: [...cell.childNodes], sort: cell.dataset.sort };
      const [text, sort] = values?.[place] ?? [];
      cell.replaceChildren(...(within ? [text || MISSING] : cell.whole.parts));
      cell.dataset.sort = (within ? sort : cell.whole.sort) ?? "";
    }
  }
}

/** Show another measure in the cells of the board, by the name of a result's cell; without one, the mean as Python wrote it. */
function showMeasure(section) {
  const name = byId("measure").value;
  if ((section.dataset.shown ?? "") === name) return;
  section.dataset.shown = name;
  for (const cell of section.querySelectorAll("[data-result]")) {
    cell.mean ??= { text: cell.firstChild, sort: cell.dataset.sort };
    const text = name && cellOf(cell.dataset.result, name).textContent;
    cell.firstChild.replaceWith(text || cell.mean.text);
    cell.dataset.sort = name ? text.replace(MISSING, "") : cell.mean.sort;
  }
}

/** Add the seeds of each result behind its number, when the row comes into sight. */
function startCells() {
  const drawCells = (line) => {
    seen.unobserve(line);
    for (const cell of line.querySelectorAll("[data-result]:not(:has(.seeds))")) {
      const seeds = seedsOf(cell.dataset.result);
      if (!seeds) continue;
      cell.title = seeds.getAttribute("aria-label");
      cell.append(seeds);
    }
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
  const named = (name) => section.querySelector(`.board thead [data-name="${CSS.escape(name)}"]`);
  const down = asked.sort.startsWith("-") && named(asked.sort.slice(1));
  sortTable(down || named(asked.sort) || named("rank"), down ? "descending" : "ascending");
}

/** Sort the rows of a table by a column; what has no value comes last, and ties stay as Python had them. */
function sortTable(head, direction) {
  const body = head.closest("table").tBodies[0];
  const rows = [...body.rows].map((row, place) => ({ row, place: Number((row.dataset.place ??= place)), key: keyOf(row.cells[head.cellIndex]) }));
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
