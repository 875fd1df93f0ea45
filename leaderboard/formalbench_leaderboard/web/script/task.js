// The view of one task: what it is, examples, its automaton, and who solves it.

function taskView(title) {
  const boards = DATA.boards.filter((board) => board.rows.some((row) => own(row.results, title)));
  const known = own(DATA.tasks, title);
  if (!boards.length && !known) return null;
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board"), " / task"),
    make("h1", { tabindex: -1 }, title),
    known?.summary ? make("p", { class: "lead" }, known.summary) : null,
    known ? definition(known, boards[0] ? own(boards[0].facts, title) : undefined) : null,
    ...boards.map((board) => taskOn(board, title)),
    publishedOn(title),
  ];
}

function definition(known, facts) {
  const classes = known.classes === 2 ? "two: 1 is in, 0 is out" : `${known.classes}`;
  const facing = [
    termList([
      ["asked as", known.objective],
      ["classes", classes],
      ["alphabet", known.alphabet.length > 24 ? `${known.alphabet.length} symbols` : known.alphabet.join("  ")],
      ["trained on lengths", `${known.train[0]}–${known.train[1]}`],
      ["tested on lengths", facts ? `${facts.first}–${facts.last}` : null],
      ["test strings", facts ? grouped(facts.strings) : null],
      ["language class", facts?.language_class],
      ["chance, length only", facts ? `${percent(facts.chance_length)} %` : null],
      ["chance, constant", facts ? `${percent(facts.chance_constant)} %` : null],
      ["metric", facts?.metric],
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
  const ends = known.classes === 2 ? "A string is in if it ends in a double circle." : "The number in a state is the class.";
  const text = `The minimal automaton, ${states} states. ${ends}`;
  const drawing = drawAutomaton(known.automaton, known.alphabet, known.classes, `The minimal automaton of ${known.name}`);
  return make("figure", { class: "machine" }, drawing, make("figcaption", {}, text));
}

function taskOn(board, title) {
  const found = board.rows
    .map((row) => ({ row, result: own(row.results, title) }))
    .filter(({ result }) => result)
    .sort((a, b) => (b.result.mean ?? -1) - (a.result.mean ?? -1));
  const last = own(board.facts, title)?.last;
  const solved = found.filter(({ result }) => last != null && result.longest_99 === last);
  const rows = found.map(({ row, result }) => [{ text: link("model", row.model), sort: row.model, left: true }, ...resultCells(result)]);
  const chart = make("div", { class: "charts single" });
  const drawn = () => chart.replaceChildren(figure(board, title, chosenLines(board, title), { width: Math.min(660, byId("main").clientWidth - 32), height: 300, untitled: true }));
  if (shownBoard() !== board) chooseFirst(board);
  drawn();
  return make(
    "section",
    {},
    make("h2", {}, boardTitle(board)),
    make("p", {}, ...solvedBy(solved, last)),
    table(`${title}: models, in percent`, [{ text: "model", left: true, ascending: true }, ...RESULT_HEADS], rows),
    make("h3", {}, "Accuracy against length"),
    chooser(board, drawn),
    chart,
  );
}

const boardTitle = (board) => `Who solves it: protocol ${board.name}`;

function solvedBy(solved, last) {
  if (!solved.length) return ["No model keeps at least 99 % at every test length."];
  const names = solved.flatMap(({ row }, index) => [index ? ", " : "", link("model", row.model)]);
  return [`At least 99 % at every test length up to ${last}, on average over the seeds: `, ...names, "."];
}

function publishedOn(title) {
  const rows = DATA.published.flatMap((table) =>
    table.rows
      .filter((row) => own(row.results, title))
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
    make("p", { class: "quiet" }, "Numbers from papers, under other protocols."),
    table(`${title}: published, in percent`, heads, rows),
  );
}
