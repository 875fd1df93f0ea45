// What the sorting library does not do: first direction, filter, what the cells show.

const MEASURES = {
  mean: { text: "mean accuracy", value: (r) => r.mean, show: percent },
  max: { text: "best seed", value: (r) => r.max, show: percent },
  scaled: { text: "scaled accuracy", value: (r) => r.scaled, show: percent },
  longest_99: { text: "≥ 99 % up to length", value: (r) => r.longest_99, show: (n) => n ?? MISSING },
  longest_90: { text: "≥ 90 % up to length", value: (r) => r.longest_90, show: (n) => n ?? MISSING },
};

/** Let a first click put the least first where the column says so. */
function startSorting() {
  document.addEventListener(
    "click",
    (event) => {
      const head = event.target.closest("thead th");
      if (head) head.closest("table").classList.toggle("asc", head.dataset.first === "ascending");
    },
    true,
  );
}

function startControls() {
  const kinds = [...new Set(DATA.boards.flatMap((board) => board.rows.map((row) => row.kind)))].sort();
  byId("kind").append(...kinds.map((kind) => make("option", { value: kind }, kind)));
  byId("kind-field").hidden = kinds.length < 2;
  const boards = DATA.boards.map((board, index) => make("option", { value: index }, board.name));
  byId("protocol").append(...boards);
  byId("board-field").hidden = boards.length < 2;
  const measures = Object.entries(MEASURES).map(([key, { text }]) => make("option", { value: key }, text));
  byId("measure").append(...measures);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("filter").addEventListener("input", filterRows);
  byId("kind").addEventListener("change", filterRows);
  byId("measure").addEventListener("change", showMeasure);
  byId("protocol").addEventListener("change", showBoard);
  byId("controls").hidden = DATA.boards.length === 0;
  showBoard();
}

/** Return the board that is shown. */
const shownBoard = () => DATA.boards[Number(byId("protocol").value || 0)];

function showBoard() {
  const shown = Number(byId("protocol").value || 0);
  document.querySelectorAll(".measured").forEach((section, index) => {
    section.hidden = index !== shown;
  });
  filterRows();
  boardChanged();
}

function filterRows() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const kind = byId("kind").value;
  const rows = [...document.querySelectorAll(".measured:not([hidden]) .board tbody tr")];
  for (const row of rows) {
    const name = row.dataset.model.toLowerCase();
    row.hidden = !(words.every((word) => name.includes(word)) && (!kind || row.dataset.kind === kind));
  }
  const seen = rows.filter((row) => !row.hidden).length;
  const models = rows.length === 1 ? "model" : "models";
  byId("found").textContent = seen === rows.length ? `${seen} ${models}` : `${seen} of ${rows.length} ${models}`;
}

function showMeasure() {
  const measure = MEASURES[byId("measure").value];
  document.querySelectorAll(".measured").forEach((section, index) => {
    const board = DATA.boards[index];
    for (const line of section.querySelectorAll(".board tbody tr")) {
      board.tasks.forEach((task, column) => {
        const result = own(board.rows[line.dataset.row].results, task);
        const cell = line.cells[line.cells.length - board.tasks.length + column];
        if (result) setCell(cell, measure.value(result), (value) => cellText(result, measure, value));
      });
    }
    // The rows are no longer in the order of these columns.
    const heads = [...section.querySelectorAll(".board thead th")].slice(-board.tasks.length);
    for (const head of heads) head.removeAttribute("aria-sort");
  });
}

/** Return the text of a cell: of a mean that was not learned, the validation accuracy. */
function cellText(result, measure, value) {
  const means = measure === Object.values(MEASURES)[0];
  return means && unlearned(result) ? `[${percent(result.validation)}]` : measure.show(value);
}

function setCell(cell, value, show) {
  cell.firstChild.textContent = show(value);
  cell.dataset.sort = value ?? "";
}
