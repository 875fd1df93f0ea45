// Three questions about a task, which are never one number: can it be expressed, is it learned, does it extrapolate?

/** Return the lanes of a task. */
function lanes(title, boards) {
  return make(
    "div",
    { class: "lanes" },
    lane("Expressible", "Constructions with weights set by hand, and theorems about kinds of networks, without training.", expressible(title)),
    lane("Learned", "Whether training within the budget reaches 99 % on held-out strings of the training lengths.", boards.map((board) => learnedOn(board, title))),
    lane("Extrapolates", "How far accuracy holds beyond the training lengths, for models that learned the training lengths.", boards.map((board) => extrapolatesOn(board, title))),
  );
}

function lane(name, about, parts) {
  const known = parts.filter(Boolean);
  const none = make("p", { class: "quiet" }, "No results yet.");
  return make("section", { class: "lane" }, make("h2", {}, name), make("p", { class: "quiet" }, about), ...(known.length ? known : [none]));
}

// Expressible

const DTYPES = ["fp16", "bf16", "fp32", "fp64"];

function expressible(title) {
  const built = (DATA.details.constructions ?? []).filter((one) => one.task === title);
  return [
    built.length ? constructionTable(title, built) : make("p", { class: "quiet" }, "No construction was verified on this task."),
    built.length ? verifyAgain(built) : null,
    theoremTable(title),
  ];
}

function constructionTable(title, built) {
  const heads = [
    { text: "construction", left: true, ascending: true },
    { text: "exhaustive to" },
    { text: "sampled to" },
    { text: "wrong" },
    { text: "margin" },
    ...DTYPES.map((text) => ({ text })),
    { text: "depth, width" },
  ];
  const rows = built.map((one) => [
    { text: link("model", one.model), sort: one.model, left: true },
    { text: `${one.exhaustive ?? MISSING}`, sort: one.exhaustive },
    { text: one.tested_to == null ? MISSING : grouped(one.tested_to), sort: one.tested_to },
    { text: `${grouped(one.errors)} of ${grouped(one.strings)}`, sort: one.errors },
    { text: one.margin == null ? MISSING : one.margin.toPrecision(2), sort: one.margin },
    ...DTYPES.map((dtype) => breakCell(one, dtype)),
    { text: one.size.slice(0, 2).map((size) => size ?? MISSING).join(", "), sort: one.size[0] },
  ]);
  return table(`${title}: constructions, with the longest length at which each precision is right`, heads, rows);
}

function breakCell({ breaks }, dtype) {
  const length = own(breaks, dtype);
  return { text: length == null ? MISSING : grouped(length), sort: length };
}

function verifyAgain(built) {
  const commands = built.flatMap((one) => one.commands).map((command) => copyable(command));
  return make("details", {}, make("summary", {}, "Commands that repeat the verifications"), ...commands);
}

/** Return what theorems say of kinds of networks on this task. */
function theoremTable(title) {
  const said = own(DATA.details.theory ?? {}, title) ?? [];
  if (!said.length) return null;
  const rows = said.map(([name, verdict]) => {
    const theorem = DATA.details.theorems[name];
    const kind = theorem.mechanisms.join(" + ") + (theorem.eigenvalues ? `, eigenvalues ${theorem.eigenvalues}` : "");
    return [
      { text: kind, sort: kind, left: true },
      { text: `${verdict}${theorem.evidence === "experiment" ? " (experiment)" : ""}`, sort: verdict, left: true },
      { text: theorem.conditions ?? "", left: true, wrap: true },
      { text: theorem.source ?? "", left: true, wrap: true },
    ];
  });
  const heads = [{ text: "kind of network", left: true, ascending: true }, { text: "theory", left: true }, { text: "conditions", left: true }, { text: "source", left: true }];
  return table(`${title}: theory`, heads, rows);
}

// Learned

const resultsOn = (board, title) =>
  board.rows.map((row) => ({ row, result: own(row.results, title) })).filter(({ result }) => result);

function learnedOn(board, title) {
  const found = resultsOn(board, title).filter(({ row }) => row.kind === "learned");
  if (!found.length) return null;
  const steps = ({ runs }) => {
    const taken = runs.filter((run) => run.learned).map((run) => run.steps);
    return taken.length ? taken.reduce((sum, steps) => sum + steps, 0) / taken.length : null;
  };
  found.sort((a, b) => b.result.learned / b.result.seeds - a.result.learned / a.result.seeds || (steps(a.result) ?? 0) - (steps(b.result) ?? 0));
  const rows = found.map(({ row, result }) => [
    { text: link("model", row.model), sort: row.model, left: true },
    { text: `${result.learned} of ${result.seeds}`, sort: result.learned / result.seeds },
    { text: percent(result.validation), sort: result.validation, grey: unlearned(result) },
    { text: [stepDots(result), seedLinks(result, (run) => grouped(run.steps))], sort: steps(result), left: true },
    { text: seedLinks(result, (run) => (run.validation == null ? run.status : percent(run.validation))), left: true },
    { text: grouped(result.budget), sort: result.budget },
  ]);
  const heads = [
    { text: "model", left: true, ascending: true },
    { text: "learned" },
    { text: "validation" },
    { text: "steps, each seed", left: true },
    { text: "validation, each seed", left: true },
    { text: "budget" },
  ];
  return table(`${title}: learned, protocol ${board.name}. Hollow dots: seeds that did not learn`, heads, rows);
}

/** Return a text for each seed, with a link to its record where that is known. */
function seedLinks(result, text) {
  return result.runs.flatMap((run, index) => {
    const place = run.record;
    const label = `record of seed ${run.seed}`;
    const shown = place ? make("a", { href: place, title: label, "aria-label": `${text(run)}, ${label}` }, text(run)) : text(run);
    return [index ? " · " : " ", shown];
  });
}

// Extrapolates

function extrapolatesOn(board, title) {
  const facts = own(board.facts, title);
  const found = resultsOn(board, title).filter(({ result }) => result.curve || result.learned);
  if (!facts || !found.length) return null;
  const able = found.filter(({ result }) => result.curve && reaches(result)).sort((a, b) => b.result.mean - a.result.mean);
  const others = found.filter(({ result }) => unlearned(result));
  const cut = found.filter((one) => !able.includes(one) && !others.includes(one));
  const heads = [
    { text: "model", left: true, ascending: true },
    { text: `lengths ${facts.first} to ${facts.last}`, left: true },
    { text: "mean, seeds", left: false },
    { text: "95 % interval", left: true },
    { text: "≥ 99 % to" },
  ];
  const rows = able.map(({ row, result }) => [
    { text: link("model", row.model), sort: row.model, left: true },
    { text: strip(result, facts), left: true },
    seedCell(result, facts),
    { text: interval(result.low, result.high), sort: result.low, left: true },
    { text: `${result.longest_99 ?? MISSING}`, sort: result.longest_99 },
  ]);
  const rest = others.flatMap(({ row, result }, index) => [index ? ", " : "", link("model", row.model), ` [${percent(result.validation)}]`]);
  return make(
    "div",
    {},
    able.length ? table(`${title}: beyond the training lengths, protocol ${board.name}`, heads, rows) : null,
    others.length ? make("p", { class: "quiet" }, "Not learned (validation accuracy in brackets): ", ...rest, ".") : null,
    cut.length ? make("p", { class: "quiet cut" }, "Learned, but no run that learned finished its test: ", ...cut.flatMap(({ row, result }, index) => [index ? ", " : "", link("model", row.model), `: ${result.outcome}`]), ".") : null,
  );
}

// Reproductions

/** Return what reproductions of papers found on a task, cell by cell, with their verdicts. */
function reproducedOn(title) {
  const found = own(DATA.details.reproduced ?? {}, title) ?? [];
  if (!found.length) return null;
  const parts = found.flatMap((one) => {
    const counts = Object.entries(one.verdicts).map(([verdict, times]) => `${times} ${verdict}`).join(", ");
    const measured = one.cells.filter(([, , , verdict]) => verdict !== "not run at this scale");
    const rows = measured.map(([at, paper, ours, verdict]) => [
      { text: at, sort: at, left: true },
      { text: paper },
      { text: ours },
      { text: verdict, sort: verdict, left: true },
    ]);
    const heads = [{ text: "of", left: true, ascending: true }, { text: "paper" }, { text: "ours" }, { text: "verdict", left: true }];
    return [make("h3", {}, one.title), make("p", { class: "quiet" }, `${one.source}. On this task: ${counts}.`), rows.length ? table(`${one.title}: the paper's numbers and ours`, heads, rows) : null, copyable(one.command)];
  });
  return make("section", {}, make("h2", {}, "Reproduced"), make("p", { class: "quiet" }, "Experiments of papers, repeated under the papers' protocols."), ...parts);
}
