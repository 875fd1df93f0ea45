// The comparison of two or more models: their results on each task, the differences, and how their runs differ.

const LETTERS = "ABCDEF"; // at most six models at a time

function compareView(view, asked) {
  const names = asked.slice(0, LETTERS.length);
  const wanted = [...new Set(names.filter(Boolean))];
  const found = DATA.boards.map((board) => ({ board, rows: wanted.map((name) => rowOf(board, name)).filter(Boolean) }));
  const parts = found.filter(({ rows }) => rows.length > 1).map(({ board, rows }) => comparedOn(board, rows));
  const unknown = wanted.filter((name) => !DATA.boards.some((board) => rowOf(board, name)));
  const said = unknown.map((name) => `There is no model called ${name} here.`);
  if (!said.length && wanted.length < 2) said.push("Choose two models.");
  else if (!said.length && !parts.length) said.push(`${listed(wanted)} cannot be compared: no protocol has results of both.`);
  showArticle(view, "comparison");
  view.querySelector("h1").textContent = listed(names);
  view.append(...said.map((text) => make("p", { class: "lead" }, text)), compareForm(names), ...parts);
}

const listed = (names) => new Intl.ListFormat("en-GB").format(names);

const rowOf = (board, name) => board.rows.find((row) => row.model === name);

/** Return a form that leads to the comparison of two or more models; there is none for one model. */
function compareForm(names) {
  const form = byId("comparison")?.firstElementChild.cloneNode(true) ?? "";
  [...(form && form.querySelectorAll("select"))].forEach((select, index) => {
    const other = index < 2 ? [...select.options].find(({ value }) => value !== names[0]).value : "";
    select.value = names[index] ?? other;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
    select.parentNode.hidden = index >= Math.max(2, names.length);
  });
  return form;
}

function addModel(form) {
  const field = form.querySelector(".field[hidden]");
  field.hidden = false;
  field.querySelector("select").focus();
}

/** Return { tasks: a map from a task to its difference, mean: { a, b, apart, tasks } or null } of two rows; Python computed it. */
function compared(board, a, b) {
  const [one, other] = [a, b].map((row) => board.rows.indexOf(row)).sort((i, j) => i - j);
  const [mean, ...each] = board.pairs?.[one][other - one - 1] ?? [null];
  const same = board.rows[one] === a;
  const apart = ([value, low, high]) => (same ? [value, low, high] : [-value, -high, -low]).map((share) => share / DATA.digits);
  const tasks = new Map(board.all_tasks.flatMap((task, index) => (each[index] ? [[task, apart(each[index])]] : [])));
  if (!mean) return { tasks, mean: null };
  const [count, first, second, scaled] = mean;
  const [ours, theirs] = (same ? [first, second] : [second, first]).map((share) => share / DATA.digits);
  return { tasks, mean: { a: ours, b: theirs, apart: apart(scaled), tasks: count } };
}

/** Return what two models or more have in common under a protocol. */
function comparedOn(board, rows) {
  const part = byId("compared").content.firstElementChild.cloneNode(true);
  const fill = (name) => part.querySelector(`[data-fill=${name}]`);
  const pair = rows.length === 2 && compared(board, ...rows);
  fill("protocol").textContent = board.name;
  fill(board.pairs ? "unpaired" : "intervals").remove();
  if (pair && board.pairs) fill("verdict").textContent = comparisonVerdict(...rows, pair.mean);
  fillResults(fill("results"), board, rows, pair);
  if (!pair && board.pairs) fillPairs(fill("pairs"), board, rows);
  const lacking = pair ? board.all_tasks.filter((task) => rows.filter((row) => task in row.results).length === 1) : [];
  fill("lacking").textContent = lacking.length ? `Only one of them has: ${lacking.join(", ")}.` : "";
  part.querySelector(".copyable code").textContent = `formalbench compare ${rows.map((row) => shellQuoted(row.model)).join(" ")}`;
  fillSettings(fill("differs"), board, rows);
  fill("keys").append(...rows.flatMap(({ model, colour }) => [make("i", { class: "key", style: `--colour:${colour}` }), `${model} `]));
  const models = rows.map((row) => row.model);
  const curves = document.importNode(ARTICLES.get(`curves=${DATA.boards.indexOf(board)}`), true);
  for (const figure of curves.querySelectorAll("figure")) {
    const { task } = figure.dataset;
    if (board.texts.includes(task) || rows.filter(({ results }) => DATA.curves[results[task]]).length < 2) continue;
    drawFigure(figure, models);
    part.querySelector(".charts").append(figure);
  }
  return part;
}

const head = (text, left) => make("th", { scope: "col", class: left ? "left" : null }, make("button", { type: "button" }, text));

const cell = (text, left, sort) => make("td", { class: left ? "left" : null, "data-sort": sort }, ...[text].flat());

/** Fill the results on each task; of two models with their differences, and the means below. */
function fillResults(part, board, rows, pair) {
  const said = `${rows.map(({ model }, index) => `${LETTERS[index]} is ${model}`).join(", ")}; in percent`;
  part.firstElementChild.setAttribute("aria-label", said);
  part.querySelector("caption").textContent = said;
  const heads = [...rows.map((_, index) => head(LETTERS[index])), ...(pair ? [head("A − B"), head("95 % interval", true)] : [])];
  part.querySelector("thead tr").append(...heads);
  const shared = (task) => (pair && board.pairs ? pair.tasks.has(task) : rows.some((row) => task in row.results));
  const lines = board.all_tasks.filter((task) => shared(task) && !board.texts.includes(task)).map((task) => {
    const results = rows.map(({ results }) => (task in results ? copyOf(results[task], "seeds") : cell(MISSING)));
    const some = rows.find(({ results }) => task in results).results[task];
    return make("tr", {}, copyOf(some, "task"), ...results, ...(pair ? apartCells(pair.tasks.get(task)) : []));
  });
  part.querySelector("tbody").append(...lines);
  if (!pair?.mean) return;
  const means = [cell(percent(pair.mean.a)), cell(percent(pair.mean.b)), ...apartCells(pair.mean.apart)];
  part.querySelector("tfoot").append(make("tr", { class: "mean" }, make("th", { scope: "row" }, "mean, scaled"), ...means));
}

/** Return a difference and its interval; a bar shows the interval from -100 to 100, a dot the difference. */
function apartCells(apart) {
  if (!apart) return [cell(MISSING), cell(MISSING, true)];
  const [value, low, high] = apart;
  const at = (lead) => (lead + 1) / 2;
  const svg = glyph([mark("tick", 0.5, 0.5, [1, 8]), mark("bar", at(low), at(high)), dot(at(value))]);
  return [cell(`${value > 0 ? "+" : ""}${percent(value)}`, false, value), cell([svg, `${percent(low)} … ${percent(high)}`], true, low)];
}

/** Fill the differences of each two of three models or more. */
function fillPairs(part, board, rows) {
  rows.forEach((a, one) =>
    rows.slice(one + 1).forEach((b, next) => {
      const { mean } = compared(board, a, b);
      const better = a.ranked && b.ranked ? (betterOf(a, b)?.model ?? "neither") : MISSING;
      const name = make("th", { scope: "row", class: "left" }, `${LETTERS[one]} − ${LETTERS[one + 1 + next]}`);
      part.querySelector("tbody").append(make("tr", {}, name, cell(mean?.tasks ?? MISSING), ...apartCells(mean?.apart), cell(better, true)));
    }),
  );
}

/** Return which of two rows is significantly better on the board's tasks, if one is. */
const betterOf = (a, b) => (a.better_than.includes(b.model) ? a : b.better_than.includes(a.model) ? b : null);

function comparisonVerdict(a, b, mean) {
  if (!mean) return "None of these tasks counts in a score.";
  const over = mean.tasks === 1 ? "this task" : `these ${mean.tasks} tasks`;
  const [low, high] = mean.apart.slice(1).map(percent);
  const lead = `A − B over ${over}: ${low} … ${high} points (95 % interval, which allows for an unseen seed).`;
  if (!a.ranked || !b.ranked) return lead;
  const better = betterOf(a, b);
  return `On the board's tasks ${better ? `${better.model} is significantly better` : "neither is significantly better"}. ${lead}`;
}

/** Fill the settings that differ; an option that a model lacks is left out. */
function fillSettings(part, board, rows) {
  const settings = rows.map((row) => row.settings);
  const names = [...new Set(settings.flatMap((one) => Object.keys(one)))].filter((name) => {
    const values = settings.map((one) => one[name]);
    return new Set(values).size > 1 && (!values.includes(undefined) || !name.startsWith("option "));
  });
  part.querySelector("thead tr").append(...rows.map((_, index) => head(LETTERS[index], true)));
  const lines = names.map((name) => make("tr", {}, make("th", { scope: "row", class: "left" }, name), ...settings.map((one) => cell(one[name] ?? MISSING, true))));
  part.querySelector("tbody").append(...lines);
}

/** Return a word as a shell reads it. */
const shellQuoted = (word) => (/^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
