// Behind the number of each cell of the board: its seeds, its interval and chance, drawn when the row comes into sight.

function startCells() {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) drawCells(target);
    },
    { rootMargin: "50% 0px" },
  );
  const lines = [...document.querySelectorAll(".board tbody tr")];
  for (const line of lines) seen.observe(line);
  addEventListener("beforeprint", () => lines.forEach(drawCells));

  function drawCells(line) {
    seen.unobserve(line);
    if (line.querySelector(".seeds")) return;
    const sections = [...document.querySelectorAll(".measured")];
    const board = DATA.boards[sections.indexOf(line.closest(".measured"))];
    const row = board.rows[line.dataset.row];
    [...line.closest("table").tHead.rows[0].cells].forEach(({ dataset: { name } }, column) => {
      const result = board.tasks.includes(name) ? own(row.results, name) : null;
      const facts = own(board.facts, name);
      if (result?.finished && facts.measure.accuracy) addMark(line.cells[column], result, facts);
    });
  }
}

/** Add what is drawn to a cell, and the same in words for who points at it or listens. */
function addMark(cell, result, facts) {
  cell.title = seedsTold(result, facts);
  const told = { class: "interval seeds", role: "img", "aria-label": cell.title };
  cell.append(mark(seedParts(result, facts, SMALL), SMALL, told));
}

function seedsTold(result, facts) {
  const tested = result.runs.filter((run) => run.accuracy != null);
  const each = tested.map((run) => percent(run.accuracy) + (run.learned ? "" : " (not learned)"));
  return `seeds ${each.join(", ")}; 95 % interval of the mean ${interval(result.low, result.high)}; chance ${percent(facts.chance_length)}`;
}
