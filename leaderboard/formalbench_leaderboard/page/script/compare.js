// The view of two or more models: their results on each task, the differences, and how their runs differ.

VIEWS.compare = compareView;

const LETTERS = ["A", "B", "C", "D", "E", "F"]; // at most six models at a time

function compareView(...asked) {
  const names = asked.slice(0, LETTERS.length);
  const wanted = [...new Set(names.filter(Boolean))];
  const here = (name) => DATA.boards.some((board) => rowOf(board, name));
  const unknown = wanted.filter((name) => !here(name));
  const found = DATA.boards.map((board) => ({ board, rows: wanted.map((name) => rowOf(board, name)).filter(Boolean) }));
  const parts = found.filter(({ rows }) => rows.length > 1).map(({ board, rows }) => comparedOn(board, rows));
  const said = unknown.map((name) => `There is no model called ${name} here.`);
  if (!said.length && wanted.length < 2) said.push("Choose two models.");
  else if (!said.length && !parts.length) said.push(`${listed(wanted)} cannot be compared: no protocol has results of both.`);
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board"), " / comparison"),
    make("h1", { tabindex: -1 }, ...names.flatMap((name, index) => [index ? between(index, names.length) : "", ...breakable(name)])),
    ...said.map((text) => make("p", { class: "lead" }, text)),
    compareForm(names),
    ...parts,
  ];
}

const between = (index, count) => (index === count - 1 ? " and " : ", ");

const listed = (names) => names.map((name, index) => (index ? between(index, names.length) : "") + name).join("");

const rowOf = (board, name) => board.rows.find((row) => row.model === name);

/** Return a form that leads to the comparison of two or more models. */
function compareForm(chosen) {
  const models = [...new Set(DATA.boards.flatMap((board) => board.rows.map((row) => row.model)))].sort();
  const fields = () => [...form.querySelectorAll("select")];
  const add = (name) => {
    const letter = LETTERS[fields().length];
    const options = models.map((model) => make("option", { value: model, selected: model === name }, model));
    if (fields().length > 1) options.unshift(make("option", { value: "" }, "none"));
    const field = make("label", { class: "field" }, `${letter} `, make("select", { "aria-label": letter }, ...options));
    form.insertBefore(field, more);
    more.hidden = fields().length === LETTERS.length;
    return field;
  };
  const more = make("button", { type: "button", class: "action" }, "Add another");
  const form = make("form", { class: "controls compare", "aria-label": "Compare models" }, make("span", { class: "quiet" }, "Compare models"), more, make("button", { type: "submit", class: "action" }, "Compare"));
  more.addEventListener("click", () => add("").querySelector("select").focus());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("compare", ...fields().map((field) => field.value).filter(Boolean)).slice(1);
  });
  for (const name of chosen) add(name);
  while (fields().length < 2) add(models[0]);
  return form;
}

/** Return { tasks: [{ task, facts, a, b, apart }], mean: { a, b, apart, tasks } or null } of two rows; Python computed it. */
function compared(board, a, b) {
  const [one, other] = [a, b].map((row) => board.rows.indexOf(row)).sort((i, j) => i - j);
  const place = (one * (2 * board.rows.length - one - 1)) / 2 + other - one - 1;
  const [mean, ...each] = board.pairs?.[place] ?? [null];
  const sign = board.rows[one] === a ? 1 : -1;
  const apart = ([value, ...ends]) => [value, ...(sign > 0 ? ends : ends.reverse())].map((share) => (sign * share) / DATA.digits);
  const tasks = tasksOf(board).flatMap((task, index) =>
    each[index] ? [{ task, facts: board.facts[task], a: a.results[task], b: b.results[task], apart: apart(each[index]) }] : [],
  );
  if (!mean) return { tasks, mean: null };
  const [count, ...shares] = mean;
  const [first, second] = (sign > 0 ? shares : [shares[1], shares[0]]).map((share) => share / DATA.digits);
  return { tasks, mean: { a: first, b: second, apart: apart(shares[2]), tasks: count } };
}

function comparedOn(board, rows) {
  const [a, b] = rows;
  return make(
    "section",
    {},
    make("h2", {}, `Protocol ${board.name}`),
    ...(rows.length === 2 ? comparedPair(board, a, b) : comparedMany(board, rows)),
    copyable(`formalbench compare ${rows.map((row) => shellQuoted(row.model)).join(" ")}`),
    make("h3", {}, "What differs"),
    differences(board, rows),
    make("h3", {}, "Accuracy against length"),
    make("p", { class: "quiet" }, ...rows.flatMap((row) => [make("i", { class: "key", style: `--colour: ${colourOf(row)}` }), `${row.model} `])),
    make("div", { class: "charts" }, ...comparedCharts(board, rows)),
  );
}

/** Return a chart for each task on which two of the rows or more have a curve. */
function comparedCharts(board, rows) {
  const drawnOn = (task) => rows.filter((row) => own(row.results, task)?.curve);
  const tasks = tasksOf(board).filter((task) => drawnOn(task).length > 1 && !isText(own(board.facts, task)));
  return tasks.map((task) => figure(board, task, drawnOn(task).map((row) => lineOf(row, row.results[task]))));
}

const INTERVALS =
  "A − B is the difference of the test accuracies in points, whether or not the models learned. Its 95 % interval is over seeds and test strings; it is wide because an unseen seed may differ. [n]: the training lengths were not learned (n = validation accuracy, %).";

const TOO_MANY = "The board has too many models to keep the differences of each two on this page. The command computes them.";

function comparedPair(board, a, b) {
  if (!board.pairs) return [make("p", {}, TOO_MANY)];
  const { tasks, mean } = compared(board, a, b);
  const lacking = tasksOf(board).filter((task) => Boolean(own(a.results, task)) !== Boolean(own(b.results, task)));
  return [
    make("p", {}, comparisonVerdict(a, b, mean)),
    comparedTable(a, b, tasks, mean),
    make("p", { class: "quiet" }, INTERVALS),
    lacking.length ? make("p", { class: "quiet" }, `Only one of them has: ${lacking.join(", ")}.`) : null,
  ];
}

/** Return the results of three models or more on each task, and the differences of each pair. */
function comparedMany(board, rows) {
  const tasks = tasksOf(board).filter((task) => !isText(own(board.facts, task)) && rows.some((row) => own(row.results, task)));
  const results = tasks.map((task) => [
    { text: link("task", task), sort: task, left: true },
    ...rows.map((row) => (own(row.results, task) ? seedCell(row.results[task], own(board.facts, task)) : { text: MISSING, sort: null })),
  ]);
  const pairs = rows.flatMap((a, one) => rows.slice(one + 1).map((b, next) => [a, b, `${LETTERS[one]} − ${LETTERS[one + 1 + next]}`]));
  const leads = pairs.map(([a, b, name]) => [{ text: name, sort: name, left: true }, ...pairCells(a, b, compared(board, a, b).mean)]);
  const heads = [{ text: "task", left: true, ascending: true }, ...rows.map((_, index) => ({ text: LETTERS[index] }))];
  const pairHeads = [{ text: "pair", left: true, ascending: true }, { text: "tasks" }, { text: "difference" }, { text: "95 % interval", left: true }, { text: "significantly better", left: true }];
  return [
    table(`${named(rows)}; in percent`, heads, results),
    board.pairs ? table("Differences of the mean scaled accuracy over the tasks that both models have, in points", pairHeads, leads) : make("p", {}, TOO_MANY),
    make("p", { class: "quiet" }, INTERVALS),
  ];
}

const named = (rows) => rows.map((row, index) => `${LETTERS[index]} is ${row.model}`).join(", ");

/** Return the cells of a pair: over how many tasks, the difference, and who is better on the board's tasks. */
function pairCells(a, b, mean) {
  const none = { text: MISSING, sort: null };
  const [better] = [[a, b], [b, a]].filter(([one, other]) => one.better_than.includes(other.model));
  const said = a.rank == null || b.rank == null ? MISSING : (better?.[0].model ?? "neither");
  const cells = mean ? [{ text: `${mean.tasks}`, sort: mean.tasks }, ...apartCells(mean.apart)] : [none, none, none];
  return [...cells, { text: said, left: true }];
}

function comparisonVerdict(a, b, mean) {
  if (!mean) return "None of these tasks counts in a score.";
  const over = mean.tasks === 1 ? "this task" : `these ${mean.tasks} tasks`;
  const lead = `A − B over ${over}: ${interval(...mean.apart.slice(1))} points (95 % interval, which allows for an unseen seed).`;
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

function apartCells([value, low, high]) {
  return [
    { text: `${value > 0 ? "+" : ""}${percent(value)}`, sort: value },
    { text: [leadGlyph(value, low, high), interval(low, high)], sort: low, left: true },
  ];
}

/** Return a table of settings that differ; an option that a model lacks is left out. */
function differences(board, rows) {
  const settings = rows.map((row) => own(own(DATA.details.settings ?? {}, board.name) ?? {}, row.model) ?? {});
  const names = different(settings.flatMap((one) => Object.keys(one))).filter((name) => {
    const values = settings.map((one) => own(one, name));
    return different(values).length > 1 && (!values.includes(undefined) || !name.startsWith("option "));
  });
  if (!names.length) return make("p", { class: "quiet" }, "Nothing that their records show.");
  const lines = names.map((name) => [
    { text: name, sort: name, left: true },
    ...settings.map((one) => ({ text: own(one, name) ?? MISSING, left: true })),
  ]);
  const heads = [{ text: "what", left: true, ascending: true }, ...rows.map((_, index) => ({ text: LETTERS[index], left: true }))];
  return table("What their runs differ in", heads, lines);
}

/** Return a word as a shell reads it. */
const shellQuoted = (word) => (/^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
