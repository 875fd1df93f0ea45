// The view of one model: what its records say, task by task, what is set, and how to run it again.

VIEWS.model = modelView;

function modelView(name) {
  const places = DATA.boards.flatMap((board) => board.rows.filter((row) => row.model === name).map((row) => ({ board, row })));
  const built = (DATA.details.constructions ?? []).filter((one) => one.model === name);
  if (!places.length && !built.length) return null;
  const known = own(DATA.models, name);
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board"), " / model"),
    make("h1", { tabindex: -1 }, ...breakable(name)),
    known?.summary ? make("p", { class: "lead" }, known.summary) : null,
    known?.reference ? make("p", { class: "quiet" }, known.reference) : null,
    places.length ? make("section", {}, make("h2", {}, "Compare with another model"), compareForm([name, anotherThan(name)])) : null,
    ...places.map(({ board, row }) => modelOn(board, row)),
    built.length ? verified(name, built) : null,
  ];
}

const anotherThan = (name) => DATA.boards.flatMap((board) => board.rows).find((row) => row.model !== name)?.model ?? name;

function modelOn(board, row) {
  const tasks = tasksOf(board).filter((task) => own(row.results, task));
  const added = metricColumns(tasks.map((task) => row.results[task]));
  const rows = tasks.map((task) => [
    { text: link("task", task), sort: task, left: true },
    ...resultCells(row.results[task], own(board.facts, task)),
    ...added.cells(row.results[task]),
  ]);
  const charts = tasks
    .filter((task) => curveOf(row.results[task]))
    .map((task) => figure(board, task, [lineOf(row, row.results[task])], { seeds: true }));
  const seeds = DATA.seed_curves ? "; thin lines are single seeds" : "; single seeds are left out to keep the page small";
  return make(
    "section",
    {},
    make("h2", {}, `Protocol ${board.name}`),
    make("p", { class: "verdict" }, row.verdict),
    termList([
      ["rank", row.rank == null ? (row.score == null ? "none: not tested on every task" : "none: no other model has a score") : `${ranks(row.rank_low, row.rank_high)} of ${board.ranked}`],
      ["score", row.score == null ? null : `${percent(row.score)} (${interval(row.low, row.high)})`],
      ["IQM", row.iqm == null ? null : percent(row.iqm)],
      ["kind", row.kind],
      ["parameters", count(row.parameters)],
      ["seconds of training of one run", row.seconds == null ? null : grouped(Number(row.seconds.toPrecision(3)))],
    ]),
    reachTable(board, row, tasks),
    make("h3", {}, "Options"),
    ...optionsOf(board, row),
    make("h3", {}, "All numbers"),
    table(`${row.model}: results, in percent; each seed links to its record if there is one`, [{ text: "task", left: true, ascending: true }, ...RESULT_HEADS, ...added.heads], rows),
    make("h3", {}, "Accuracy against length"),
    make("p", { class: "quiet" }, `The mean over the seeds. The band spans the Wilson intervals of all seeds${seeds}.`),
    make("div", { class: "charts" }, ...charts),
    make("h3", {}, "Commands that repeat the runs"),
    make("div", { class: "commands" }, ...tasks.map((task) => copyable(row.results[task].command))),
    make("h3", {}, "A badge"),
    ...badge(board, row, tasks),
  );
}

/** Return the row of the map: a strip over length for each task, by class of language. */
function reachTable(board, row, tasks) {
  const shown = tasks
    .map((task) => ({ task, result: row.results[task], facts: own(board.facts, task) }))
    .filter(({ result, facts }) => facts && (result.curve || (facts.measure.accuracy && result.learned)));
  if (!shown.length) return null;
  const rows = shown.map(({ task, result, facts }) => [
    { text: link("task", task), sort: task, left: true },
    { text: facts.language_class ?? MISSING, sort: facts.language_class ?? "", left: true },
    { text: validationText(result), sort: result.validation, grey: unlearned(result) },
    { text: result.curve ? strip(result, facts) : result.outcome, left: true },
    seedCell(result, facts),
    { text: `${facts.first} to ${facts.last}`, sort: facts.last, left: true },
  ]);
  const heads = [
    { text: "task", left: true, ascending: true },
    { text: "language class", left: true, ascending: true },
    { text: "validation" },
    { text: "accuracy over length", left: true },
    { text: "mean, seeds" },
    { text: "lengths", left: true },
  ];
  return table(`${row.model}: learned and extrapolates. Grey: not learned. Dots: seeds`, heads, rows);
}

/** Return what differs from the defaults, and all options below. */
function optionsOf(board, row) {
  const set = own(own(DATA.details.settings ?? {}, board.name) ?? {}, row.model) ?? {};
  const options = Object.entries(own(DATA.details.options ?? {}, own(DATA.details.names ?? {}, row.model) ?? "") ?? {});
  if (!options.length) return [make("p", { class: "quiet" }, "This model has no options, or its plugin is not installed.")];
  const lines = options.map(([name, [value, help]]) => ({ name, help, value: own(set, `option ${name}`) ?? value, standard: value }));
  const other = lines.filter((line) => line.value !== line.standard);
  const said = other.length
    ? other.flatMap(({ name, value, standard }, index) => [index ? "; " : "", make("code", {}, `${name}=${value}`), ` (default ${standard})`])
    : ["All options have their defaults."];
  const rows = lines.map(({ name, value, standard, help }) => [
    { text: name, sort: name, left: true },
    { text: value, left: true },
    { text: standard, left: true },
    { text: help, left: true, wrap: true },
  ]);
  const heads = [{ text: "option", left: true, ascending: true }, { text: "here", left: true }, { text: "default", left: true }, { text: "meaning", left: true }];
  return [
    make("p", {}, ...said),
    make("details", {}, make("summary", {}, `All ${lines.length} options`), table(`${row.model}: options`, heads, rows)),
  ];
}

function verified(name, built) {
  const rows = built.map((one) => [{ text: link("task", one.task), sort: one.task, left: true }, { text: `${one.exhaustive ?? MISSING}`, sort: one.exhaustive }, { text: one.tested_to == null ? MISSING : grouped(one.tested_to), sort: one.tested_to }, { text: grouped(one.errors), sort: one.errors }, ...DTYPES.map((dtype) => breakCell(one, dtype))]);
  const heads = [{ text: "task", left: true, ascending: true }, { text: "exhaustive to" }, { text: "sampled to" }, { text: "wrong" }, ...DTYPES.map((text) => ({ text }))];
  return make("section", {}, make("h2", {}, "Verified"), make("p", { class: "verdict" }, own(DATA.details.verified ?? {}, name)), table(`${name}: the longest length at which each precision is right`, heads, rows), verifyAgain(built));
}

// The badge: a drawing of our own, so that it needs no service.

const LETTER = 6.4; // pixels across, about

/** Return a badge with its preview, to download or to copy. */
function badge(board, row, tasks) {
  const learned = tasks.filter((task) => row.results[task].learned === row.results[task].seeds).length;
  const value = row.score == null ? `${learned} of ${tasks.length} learned` : `${percent(row.score)} (${percent(row.low, 0)}–${percent(row.high, 0)})`;
  const drawing = badgeDrawing("formalbench", value, `${row.model}, protocol ${board.name}: ${value}`);
  const source = new XMLSerializer().serializeToString(drawing);
  const file = `formalbench-${row.model.replaceAll(/[^\w.-]+/g, "-").slice(0, 80).replace(/-+$/, "")}.svg`;
  const download = make("a", { href: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`, download: file }, `Download ${file}`);
  const alt = `formalbench: ${value}`.replaceAll(/[[\]\\]/g, "\\$&");
  return [
    make("p", { class: "badge" }, drawing),
    make("p", {}, download),
    copyable(`![${alt}](${file})`, { name: "Markdown" }),
    make("details", {}, make("summary", {}, "As SVG"), copyable(source, { name: "SVG" })),
  ];
}

function badgeDrawing(left, right, title) {
  const [one, two] = [left, right].map((text) => Math.round(text.length * LETTER + 14));
  const text = (x, said, width) =>
    draw("text", { x, y: 14, "text-anchor": "middle", fill: "#fff", "font-family": "Verdana, DejaVu Sans, sans-serif", "font-size": 11, textLength: width - 14 }, said);
  return draw(
    "svg",
    { width: one + two, height: 20, viewBox: `0 0 ${one + two} 20`, role: "img", "aria-label": title },
    draw("title", {}, title),
    draw("rect", { width: one + two, height: 20, rx: 3, fill: "#1f5d73" }),
    draw("path", { d: `M0 3a3 3 0 0 1 3-3h${one - 3}v20h${3 - one}a3 3 0 0 1-3-3z`, fill: "#444" }),
    text(one / 2, left, one),
    text(one + two / 2, right, two),
  );
}
