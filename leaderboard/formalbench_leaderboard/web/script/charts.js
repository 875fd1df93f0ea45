// Accuracy against length: lines with bands, one chart per task.

/** Return the points of a curve as objects, shares in percent. */
function pointsOf(curve, model) {
  const scale = 100 / DATA.digits;
  return curve.length.map((length, index) => ({
    model,
    length,
    mean: curve.mean[index] * scale,
    low: curve.low[index] * scale,
    high: curve.high[index] * scale,
  }));
}

/** Return points of single seeds; `line` tells the seeds apart. */
function seedPointsOf(curve) {
  const scale = 100 / DATA.digits;
  return (curve.seeds ?? []).flatMap((shares, line) =>
    shares.map((share, index) => ({ line, length: curve.length[index], mean: share * scale })),
  );
}

/**
 * Draw the curves of some models on a task.
 *
 * lines: [{ model, curve, colour }]; seeds: whether the seeds' own lines are drawn.
 */
function curveChart({ task, facts, lines, seeds = false, width = 340, height = 210 }) {
  const points = lines.flatMap(({ model, curve }) => pointsOf(curve, model));
  const single = seeds ? lines.flatMap(({ curve }) => seedPointsOf(curve)) : [];
  const colour = { domain: lines.map((line) => line.model), range: lines.map((line) => line.colour) };
  const chance = facts ? 100 * facts.chance_length : null;
  return Plot.plot({
    width,
    height,
    marginLeft: 30,
    marginRight: 12,
    marginTop: 12,
    marginBottom: 32,
    ariaLabel: described(task, lines, chance),
    x: { label: "length", labelAnchor: "right", labelArrow: "none", ticks: 5, domain: extent(points, facts), tickSize: 0 },
    y: { domain: [0, 100], ticks: [0, 25, 50, 75, 100], label: null, tickSize: 0 },
    color: colour,
    marks: [
      Plot.gridY([0, 25, 50, 75, 100], { stroke: "var(--rule)", strokeOpacity: 1 }),
      chance == null ? null : Plot.ruleY([chance], { stroke: "var(--quiet)", strokeDasharray: "1 3" }),
      Plot.areaY(points, { x: "length", y1: "low", y2: "high", fill: "model", fillOpacity: 0.13 }),
      Plot.ruleX(points.filter(alone(points)), { x: "length", y1: "low", y2: "high", stroke: "model" }),
      Plot.line(single, { x: "length", y: "mean", z: "line", stroke: "var(--quiet)", strokeWidth: 0.8, strokeOpacity: 0.8 }),
      Plot.line(points, { x: "length", y: "mean", stroke: "model", strokeWidth: 1.75 }),
      points.length > 1500 ? null : Plot.dot(points, { x: "length", y: "mean", fill: "model", r: 1.9 }),
      Plot.tip(points, Plot.pointer({ x: "length", y: "mean", title: told, ...TIP })),
    ],
  });
}

const TIP = { fill: "var(--raised)", stroke: "var(--rule-strong)", lineHeight: 1.4, fontSize: 12 };

const told = (p) => `${p.model}\nlength ${p.length}: ${p.mean.toFixed(1)} %\n${p.low.toFixed(1)} … ${p.high.toFixed(1)}`;

/** Say which points have no neighbour to be joined to: a test of one cell. */
const alone = (points) => {
  const times = Map.groupBy(points, (point) => point.model);
  return (point) => times.get(point.model).length === 1;
};

function extent(points, facts) {
  if (facts) return [facts.first, facts.last];
  const lengths = points.map((point) => point.length);
  return lengths.length ? [Math.min(...lengths), Math.max(...lengths)] : [0, 1];
}

function described(task, lines, chance) {
  const names = lines.map((line) => line.model).join(", ") || "no model chosen";
  const level = chance == null ? "" : `; chance is ${chance.toFixed(1)} percent`;
  return `Accuracy in percent against string length on ${task}: ${names}${level}`;
}

/** Return a chart with its caption; the title leads to the task. */
function figure(board, task, lines, options = {}) {
  const facts = own(board.facts, task);
  const title = options.untitled ? "" : link("task", task);
  const facing = lines.length ? curveChart({ task, facts, lines, ...options }) : noCurve();
  return make("figure", { class: "chart" }, make("figcaption", {}, title), facing);
}

const noCurve = () => make("p", { class: "quiet empty" }, "No curve: choose a model that was tested on it.");

/** Return the lines of the chosen models on a task. */
function chosenLines(board, task) {
  return board.rows
    .filter((row) => chosen.has(row.model))
    .map((row) => ({ model: row.model, curve: own(row.results, task)?.curve, colour: colourOf(row.model) }))
    .filter((line) => line.curve);
}

function drawCurves() {
  const board = shownBoard();
  if (!board) return;
  byId("charts").replaceChildren(...tasksOf(board).map((task) => figure(board, task, chosenLines(board, task))));
}

/** Everything on the page that depends on which board is shown. */
function boardChanged() {
  const board = shownBoard();
  if (!board) return;
  chooseFirst(board);
  byId("chooser").replaceChildren(chooser(board, drawCurves));
  drawCurves();
  startCost();
}
