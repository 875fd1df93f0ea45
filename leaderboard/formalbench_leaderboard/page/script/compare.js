// The view of two models: how far apart they are on each task, and what their runs differ in.

VIEWS.compare = compareView;

function compareView(...names) {
  const [a = "", b = ""] = names;
  const here = (name) => DATA.boards.some((board) => rowOf(board, name));
  const boards = DATA.boards.filter((board) => rowOf(board, a) && rowOf(board, b));
  const parts = a === b ? [] : boards.map((board) => comparedOn(board, rowOf(board, a), rowOf(board, b)));
  const unknown = [...new Set([a, b])].filter((name) => name && !here(name));
  const said = unknown.length
    ? unknown.map((name) => make("p", { class: "lead" }, `There is no model called ${name} here.`))
    : a === b
      ? [make("p", { class: "lead" }, "Choose two models.")]
      : boards.length
        ? []
        : [make("p", { class: "lead" }, `${a} and ${b} were not measured under one protocol: nothing of them can be compared.`)];
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board"), " / comparison"),
    make("h1", { tabindex: -1 }, ...breakable(a), " and ", ...breakable(b)),
    ...said,
    compareForm(a, b),
    ...parts,
  ];
}

const rowOf = (board, name) => board.rows.find((row) => row.model === name);

/** Return a form that leads to the comparison of two models. */
function compareForm(a, b) {
  const models = [...new Set(DATA.boards.flatMap((board) => board.rows.map((row) => row.model)))].sort();
  const choice = (text, chosenOne) => {
    const options = models.map((name) => make("option", { value: name, selected: name === chosenOne }, name));
    return make("label", { class: "field" }, `${text} `, make("select", { "aria-label": text }, ...options));
  };
  const form = make("form", { class: "controls compare" }, choice("A", a), choice("B", b), make("button", { type: "submit", class: "action" }, "Compare"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("compare", ...[...form.querySelectorAll("select")].map((field) => field.value)).slice(1);
  });
  return form;
}

/** Return what two rows of a board have in common: [{ task, facts, a, b }], without texts. */
function sharedTasks(board, a, b) {
  return tasksOf(board)
    .map((task) => ({ task, facts: own(board.facts, task), a: own(a.results, task), b: own(b.results, task) }))
    .filter((on) => on.facts && on.a && on.b && !isText(on.facts));
}

/** Return { tasks: [{ …, apart }], mean: { a, b, apart, tasks } or null } of two rows of a board. */
function compared(board, a, b) {
  const shared = sharedTasks(board, a, b);
  const key = (row, ...more) => [board.name, row.model, ...more];
  const tasks = shared.map((on) => {
    const draws = [a, b].map((row, side) => meanDraws([sampleOf(row, side ? on.b : on.a, on.facts)], key(row, on.task)));
    return { ...on, apart: differenceOf(on.a.mean - on.b.mean, draws[0].map((value, n) => value - draws[1][n])) };
  });
  const scored = shared.filter(({ facts }) => facts.chance_length < 1);
  if (!scored.length) return { tasks, mean: null };
  const samples = [a, b].map((row, side) => scored.map((on) => sampleOf(row, side ? on.b : on.a, on.facts, true)));
  const means = samples.map((part) => average(part.map(({ values }) => average(values))));
  const draws = samples.map((part, side) => meanDraws(part, key(side ? b : a)));
  const apart = differenceOf(means[0] - means[1], draws[0].map((value, n) => value - draws[1][n]));
  return { tasks, mean: { a: means[0], b: means[1], apart, tasks: scored.length } };
}

function comparedOn(board, a, b) {
  const { tasks, mean } = compared(board, a, b);
  const charts = tasks
    .filter((on) => on.a.curve && on.b.curve)
    .map((on) => figure(board, on.task, [a, b].map((row, side) => lineOf(row, side ? on.b : on.a))));
  const lacking = tasksOf(board).filter((task) => Boolean(own(a.results, task)) !== Boolean(own(b.results, task)));
  return make(
    "section",
    {},
    make("h2", {}, `Protocol ${board.name}`),
    make("p", {}, comparisonVerdict(a, b, mean)),
    comparedTable(a, b, tasks, mean),
    make(
      "p",
      { class: "quiet" },
      "A − B is of the test accuracies, learned or not, in points. Its 95 % interval is over seeds and test strings: few seeds that agree do not say that another one will. [n]: not learned within the budget; n is the validation accuracy on the training lengths. The intervals are drawn on this page; those of the command differ by what 2,000 draws leave open.",
    ),
    lacking.length ? make("p", { class: "quiet" }, `Only one of them has: ${lacking.join(", ")}.`) : null,
    copyable(`formalbench compare ${[a, b].map((row) => shellQuoted(row.model)).join(" ")}`),
    make("h3", {}, "What differs"),
    differences(board, a, b),
    make("h3", {}, "Accuracy against length"),
    make("p", { class: "quiet" }, ...[a, b].flatMap((row) => [make("i", { class: "key", style: `--colour: ${colourOf(row)}` }), `${row.model} `])),
    make("div", { class: "charts" }, ...charts),
  );
}

function comparisonVerdict(a, b, mean) {
  if (!mean) return "None of these tasks counts in a score.";
  const over = mean.tasks === 1 ? "this task" : `these ${mean.tasks} tasks`;
  const lead = `The lead of A over ${over}: ${interval(mean.apart.low, mean.apart.high)} points (95 % interval, which allows for a seed that was not run).`;
  if (a.rank == null || b.rank == null) return lead;
  const [better] = [[a, b], [b, a]].filter(([one, other]) => one.better_than.includes(other.model));
  return `On the board's tasks ${better ? `${better[0].model} is significantly better` : "neither is significantly better"}. ${lead}`;
}

const COMPARED_HEADS = [
  { text: "task", left: true, ascending: true },
  { text: "A" },
  { text: "B" },
  { text: "A − B" },
  { text: "95 % interval", left: true },
];

function comparedTable(a, b, tasks, mean) {
  const rows = tasks.map((on) => [
    { text: link("task", on.task), sort: on.task, left: true },
    seedCell(on.a, on.facts),
    seedCell(on.b, on.facts),
    ...apartCells(on.apart),
  ]);
  const made = table(`A is ${a.model}, B is ${b.model}; in percent`, COMPARED_HEADS, rows);
  if (mean) {
    const cells = [{ text: percent(mean.a) }, { text: percent(mean.b) }, ...apartCells(mean.apart)];
    const last = cells.map(({ text, left }) => make("td", { class: left ? "left" : null }, text));
    made.firstChild.append(make("tfoot", {}, make("tr", { class: "mean" }, make("th", { scope: "row" }, "mean, scaled"), ...last)));
  }
  return made;
}

/** Return the accuracy of a model with its seeds as dots and its interval as a bar. */
function seedCell(result, facts) {
  const text = unlearned(result) ? `[${percent(result.validation)}]` : `${percent(result.mean)}${partly(result) ? "°" : ""}${result.weak ? "~" : ""}${result.marked ? " ⚠" : ""}`;
  return { text: [seedDots(result, facts), make("span", { class: "number" }, text)], sort: result.mean };
}

function apartCells({ value, low, high }) {
  return [
    { text: `${value > 0 ? "+" : ""}${percent(value)}`, sort: value },
    { text: [leadGlyph(value, low, high), interval(low, high)], sort: low, left: true },
  ];
}

/** Return what the runs of two rows differ in; an option that one of them lacks is in its name. */
function differences(board, a, b) {
  const [one, other] = [a, b].map((row) => own(own(DATA.details.settings ?? {}, board.name) ?? {}, row.model) ?? {});
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => {
    const both = own(one, name) !== undefined && own(other, name) !== undefined;
    return own(one, name) !== own(other, name) && (both || !name.startsWith("option "));
  });
  if (!names.length) return make("p", { class: "quiet" }, "Nothing that their records tell.");
  const rows = names.map((name) => [
    { text: name, sort: name, left: true },
    { text: own(one, name) ?? MISSING, left: true },
    { text: own(other, name) ?? MISSING, left: true },
  ]);
  return table("What their runs differ in", [{ text: "what", left: true, ascending: true }, { text: "A", left: true }, { text: "B", left: true }], rows);
}

/** Return a word as a shell reads it. */
const shellQuoted = (word) => (/^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
