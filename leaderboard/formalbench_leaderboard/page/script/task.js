// The view of one task: what it is, examples, its automaton, and who solves it.

VIEWS.task = taskView;

function taskView(title) {
  const boards = DATA.boards.filter((board) => board.rows.some((row) => own(row.results, title)));
  const known = own(DATA.tasks, title);
  if (!boards.length && !known) return null;
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board"), " / task"),
    make("h1", { tabindex: -1 }, title),
    known?.summary ? make("p", { class: "lead" }, known.summary) : null,
    known ? definition(title, known, boards[0] ? own(boards[0].facts, title) : undefined) : null,
    boards.some((board) => isText(own(board.facts, title))) ? null : lanes(title, boards), // of texts nothing is mastered
    besideOn(title),
    publishedOn(title),
    reproducedOn(title),
    ...boards.map((board) => taskOn(board, title)),
  ];
}

function definition(title, known, facts) {
  const classes = known.classes === 2 ? "2 (1: in the language, 0: not)" : `${known.classes}`;
  const facing = [
    termList([
      ["objective", known.objective],
      ["classes", classes],
      ["alphabet", known.alphabet.length > 24 ? `${known.alphabet.length} symbols` : known.alphabet.join("  ")],
      ["training lengths", `${known.train[0]}–${known.train[1]}`],
      ["test lengths", facts ? `${facts.first}–${facts.last}` : null],
      ["test strings", facts ? grouped(facts.strings) : null],
      ["language class", own(DATA.details.classes ?? {}, title) ?? facts?.language_class],
      ["best order-blind baseline", facts?.shortcut == null ? null : `${percent(facts.shortcut)} %`],
      ["chance, length only", facts && !isText(facts) ? `${percent(facts.chance_length)} %` : null],
      ["chance, constant", facts && !isText(facts) ? `${percent(facts.chance_constant)} %` : null],
      ["metric", facts?.metric],
      ["main metric", isText(facts) ? measureTold(facts) : null],
      ["members", known.members],
      ["source", known.reference],
    ]),
    known.examples.length ? examples(known) : null,
    known.automaton ? automaton(known) : null,
  ];
  return make("div", { class: "definition" }, ...facing.filter(Boolean));
}

function examples(known) {
  const rows = known.examples.map(([string, target]) =>
    make("tr", {}, make("td", { class: "left string" }, string || "(empty)"), make("td", { class: "left string" }, target)),
  );
  return make(
    "table",
    { class: "examples" },
    make("caption", {}, "Examples"),
    make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "left" }, "string"), make("th", { scope: "col", class: "left" }, "answer"))),
    make("tbody", {}, ...rows),
  );
}

function automaton(known) {
  const states = known.automaton.classes.length;
  const ends = known.classes === 2 ? "The language contains the strings that end in a double circle." : "The number in a state is the class.";
  const told = known.drawing
    ? `The minimal automaton, ${states} states. ${ends}`
    : `The minimal automaton, ${states} states. The drawing needs Graphviz: pip install "formalbench[figures]".`;
  const numbers = transitions(known);
  return make(
    "figure",
    { class: states > 6 ? "machine whole" : "machine" },
    known.drawing ? make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The automaton" }, drawn(known.drawing)) : numbers,
    make("figcaption", {}, told),
    known.drawing ? make("details", {}, make("summary", {}, "As a table"), numbers) : null,
  );
}

/** Return the automaton as a table: a row per state, a column per symbol. */
function transitions({ automaton: machine, alphabet, classes }) {
  const kind = (state) => (classes === 2 ? (machine.classes[state] ? "accepts" : "") : `class ${machine.classes[state]}`);
  const head = (text) => make("th", { scope: "col" }, text);
  const rows = machine.transitions.map((row, state) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, state === machine.start ? `${state}, first` : `${state}`),
      ...row.map((to) => make("td", {}, `${to}`)),
      make("td", { class: "left" }, kind(state)),
    ),
  );
  return make(
    "table",
    { class: "transitions" },
    make("caption", {}, "From a state, by a symbol, to a state"),
    make("thead", {}, make("tr", {}, head("state"), ...alphabet.map(head), make("td"))),
    make("tbody", {}, ...rows),
  );
}

function taskOn(board, title) {
  const found = board.rows
    .map((row) => ({ row, result: own(row.results, title) }))
    .filter(({ result }) => result);
  const facts = own(board.facts, title);
  const text = isText(facts);
  const order = ({ result: { value, mean } }) => (text ? (value == null ? Infinity : facts.measure.less ? value : -value) : -(mean ?? -1));
  found.sort((a, b) => order(a) - order(b) || 0);
  const last = facts?.last_telling;
  const solved = found.filter(({ result }) => last != null && result.longest_99 === last);
  const chart = make("div", { class: "charts single" });
  const rows = drawnRows(board, [title]);
  const choice = firstChoice(board, [title]);
  const drawn = () => chart.replaceChildren(figure(board, title, chosenLines(board, title, choice), { width: Math.min(660, byId("main").clientWidth - 32), height: 300, untitled: true }));
  drawn();
  return make(
    "section",
    {},
    make("h2", {}, boardTitle(board)),
    text ? make("p", {}, `Measured by ${measureTold(facts)}; not in the score.`) : make("p", {}, ...solvedBy(solved, last)),
    text ? textTable(title, facts, found) : resultTable(title, facts, found),
    rows.length ? make("h3", {}, text ? `${facts.measure.heading[0].toUpperCase()}${facts.measure.heading.slice(1)} against length` : "Accuracy against length") : null,
    text ? make("p", { class: "quiet" }, "The mean over the seeds that finished. The band spans the lowest and the highest seed.") : null,
    rows.length ? chooser(rows, choice, drawn) : null,
    rows.length ? chart : null,
  );
}

const MODEL_HEAD = { text: "model", left: true, ascending: true };

const modelCell = ({ row }) => ({ text: link("model", row.model), sort: row.model, left: true });

function resultTable(title, facts, found) {
  const added = metricColumns(found.map(({ result }) => result));
  const rows = found.map((one) => [modelCell(one), ...resultCells(one.result, facts), ...added.cells(one.result)]);
  return table(`${title}: models, in percent`, [MODEL_HEAD, ...RESULT_HEADS, ...added.heads], rows);
}

const MOST_PLACES = 12;

/** Return what models reach on a text, place by place: of more than a few lengths the chart tells. */
function textTable(title, facts, found) {
  const { measure } = facts;
  const placesOf = ({ result: { places } }) => (places ? (places.names ?? places.length.map(String)) : []);
  const every = [...new Set(found.flatMap(placesOf))];
  const shown = every.length > MOST_PLACES ? [] : every;
  const first = measure.less ? "ascending" : null;
  const at = (one, place) => one.result.places?.mean[placesOf(one).indexOf(place)];
  const text = (value) => (value == null ? MISSING : measure.share ? percent(value) : numberOn(facts, value));
  const rows = found.map((one) => [
    modelCell(one),
    { text: one.result.shown ?? MISSING, sort: one.result.value },
    ...shown.map((place) => ({ text: text(at(one, place)), sort: at(one, place) ?? null })),
    ...resultCells(one.result, facts).slice(-3),
  ]);
  const heads = [MODEL_HEAD, { text: measureTold(facts), ascending: first }, ...shown.map((name) => ({ text: name, ascending: first })), ...RESULT_HEADS.slice(-3)];
  return table(`${title}: models, by ${measureTold(facts)}; at each length or part of the test`, heads, rows);
}

const boardTitle = (board) => `All numbers: protocol ${board.name}`;

function solvedBy(solved, last) {
  if (!solved.length) return ["No model has at least 99 % at every test length."];
  const names = solved.flatMap(({ row }, index) => [index ? ", " : "", link("model", row.model)]);
  return [`At least 99 % at every test length up to ${last}, on average over the seeds: `, ...names, "."];
}

/** Show what papers print of a task beside what was measured here, and what differs. */
function besideOn(title) {
  const found = own(DATA.details.beside ?? {}, title) ?? [];
  if (!found.length) return null;
  const name = (text) => ({ text, sort: text, left: true, wrap: true });
  const number = (value, text = percent(value)) => ({ text: value == null ? MISSING : text, sort: value });
  const several = DATA.boards.length > 1;
  const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)}`;
  const rows = found.map(([source, theirs, ours, board, theirMax, theirMean, max, mean, difference, differs]) => [
    { text: link("model", ours), sort: ours, left: true },
    ...(several ? [name(board)] : []),
    name(`${theirs}, ${source}`),
    number(theirMean ?? theirMax, (theirMean ?? theirMax)?.toFixed(1)),
    number(theirMean == null ? max : mean),
    number(difference, points(difference)),
    { text: differs, sort: differs, left: true, wrap: true },
  ]);
  const heads = [
    ...["our model", ...(several ? ["protocol"] : []), "the paper's"].map((text) => ({ text, left: true, ascending: true })),
    ...["published", "ours", "difference"].map((text) => ({ text })),
    { text: "what differs", left: true, ascending: true },
  ];
  return make(
    "section",
    { class: "beside" },
    make("h2", {}, "Published numbers and ours"),
    make(
      "p",
      { class: "quiet" },
      "The numbers are means over the seeds, or the best seed if the paper gives no mean. Ours are averaged over the test lengths that are within the paper's. The difference is in points.",
    ),
    table(`${title}: published and measured, in percent`, heads, rows),
  );
}

/** Show what papers print of a task and nothing here stands beside. */
function publishedOn(title) {
  const beside = new Set((own(DATA.details.beside ?? {}, title) ?? []).map(([source, theirs]) => `${source} ${theirs}`));
  const rows = DATA.published.flatMap((table) =>
    table.rows
      .filter((row) => own(row.results, title) && !beside.has(`${table.source} ${row.model}`))
      .map((row) => [
        { text: row.model, sort: row.model, left: true },
        { text: table.source, sort: table.source, left: true },
        { text: `${row.results[title].max?.toFixed(1) ?? MISSING}`, sort: row.results[title].max },
        { text: `${row.results[title].mean?.toFixed(1) ?? MISSING}`, sort: row.results[title].mean },
      ]),
  );
  if (!rows.length) return null;
  const heads = [{ text: "model", left: true, ascending: true }, { text: "published in", left: true, ascending: true }, { text: "max" }, { text: "mean" }];
  return make(
    "section",
    {},
    make("h2", {}, "Published, not measured here"),
    make("p", { class: "quiet" }, "Numbers from papers, measured under other protocols."),
    table(`${title}: published, in percent`, heads, rows),
  );
}
