// The view of one model: its results with all seeds, its curves, the commands that repeat them.

function modelView(name) {
  const parts = DATA.boards.flatMap((board) =>
    board.rows.filter((row) => row.model === name).map((row) => modelOn(board, row)),
  );
  if (!parts.length) return null;
  const known = own(DATA.models, name);
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board"), " / model"),
    make("h1", { tabindex: -1 }, name),
    known?.summary ? make("p", { class: "lead" }, known.summary) : null,
    known?.reference ? make("p", { class: "quiet" }, known.reference) : null,
    ...parts,
  ];
}

function modelOn(board, row) {
  const tasks = tasksOf(board).filter((task) => own(row.results, task));
  const rows = tasks.map((task) => [
    { text: link("task", task), sort: task, left: true },
    ...resultCells(row.results[task]),
  ]);
  const charts = tasks
    .filter((task) => row.results[task].curve)
    .map((task) => figure(board, task, [{ model: row.model, curve: row.results[task].curve, colour: "var(--accent)" }], { seeds: true }));
  const seeds = DATA.seed_curves ? "; thin lines are the seeds" : "; single seeds are left out to keep the page small";
  return make(
    "section",
    {},
    make("h2", {}, `Protocol ${board.name}`),
    termList([
      ["rank", row.rank == null ? "none: it lacks a task" : `${row.rank} of ${board.rows.length}, within ${ranks(row.rank_low, row.rank_high)}`],
      ["score", row.score == null ? null : `${percent(row.score)} (${interval(row.low, row.high)})`],
      ["IQM", row.iqm == null ? null : percent(row.iqm)],
      ["kind", row.kind],
      ["parameters", count(row.parameters)],
      ["training, one seed on every task", row.seconds == null ? null : duration(row.seconds)],
    ]),
    table(`${row.model}: results, in percent`, [{ text: "task", left: true, ascending: true }, ...RESULT_HEADS], rows),
    make("h3", {}, "Accuracy against length"),
    make("p", { class: "quiet" }, `The mean over the seeds, with the band of their Wilson intervals${seeds}.`),
    make("div", { class: "charts" }, ...charts),
    make("h3", {}, "Run it again"),
    make("ul", { class: "commands" }, ...tasks.map((task) => make("li", {}, make("code", {}, row.results[task].command)))),
  );
}
