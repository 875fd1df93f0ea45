// Accuracy against length, or what texts are shown by: lines with bands, one chart per task.

const Y_AXIS = { domain: [0, 100], ticks: [0, 25, 50, 75, 100] };

/** Texts are not shown by accuracy, but by perplexity or BLEU: by what has a direction of its own. */
const isText = (facts) => Boolean(facts) && !facts.measure.accuracy;

const measureTold = ({ measure }) => `${measure.heading}, ${measure.less ? "less" : "more"} is better`;

const curveOf = (result) => result?.curve ?? result?.places;

/** Return what a chart draws of a model on a task: dashed, and named so, if it did not learn it. */
const lineOf = (row, result) => ({ model: row.model, curve: curveOf(result), colour: colourOf(row), dashed: Boolean(result?.curve) && !reaches(result) });

/** Return what the numbers of a task's curves are multiplied by, shares to percent. */
const scaleOf = (facts) => (!isText(facts) ? 100 / DATA.digits : facts.measure.share ? 100 : 1);

/** Return a number of a task's chart as text. */
function numberOn(facts, value) {
  if (!isText(facts) || facts.measure.share) return value.toFixed(1);
  return value < 1e9 ? value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : value.toExponential(2);
}

const tickText = (value) => (value < 1e4 ? `${Number(value.toPrecision(4))}` : value.toExponential(0).replace("+", ""));

const WORST = 1e4; // times the least perplexity: what is worse leaves the chart, and does not squash the rest

/** Return the axis of values: of texts as far as they reach, logarithmic if they are no shares. */
function valueAxis(facts, points) {
  if (!isText(facts)) return Y_AXIS;
  const label = measureTold(facts);
  const most = Math.max(...points.map((point) => point.high));
  if (facts.measure.share) return { domain: [0, most || 1], ticks: roundTicks([0, most || 1], 4), text: tickText, label };
  const least = Math.min(...points.map((point) => point.low));
  const domain = [least / 1.05, Math.min(most, WORST * least) * 1.05];
  const ticks = logTicks(domain);
  return { domain, log: true, ticks: ticks.length > 2 ? ticks : roundTicks(domain, 4), text: tickText, label: `${label} (log)` };
}

/** Return the points of a curve, shares in percent: [{ length, mean, low, high }]; of named parts their places among `names`. */
function pointsOf(curve, scale, names) {
  return curve.length.map((length, index) => ({
    length: curve.names ? names.indexOf(curve.names[index]) : length,
    mean: curve.mean[index] * scale,
    low: curve.low[index] * scale,
    high: curve.high[index] * scale,
  }));
}

/** Return the chance level at each length that tells something, in percent: two points, if it is the same. */
function chancePointsOf(facts) {
  const { length = [], chance = [] } = facts?.chance_curve ?? {};
  return length.map((at, index) => ({ length: at, mean: (100 * chance[index]) / DATA.digits }));
}

/**
 * Return the curves of some models on a task, and below them what they are at a length.
 *
 * lines: [{ model, curve, colour, dashed }]; seeds: whether the seeds' own lines are drawn.
 */
function curveChart({ task, facts, lines, seeds = false, width = 340, height = 210 }) {
  const names = [...new Set(lines.flatMap(({ curve }) => curve.names ?? []))];
  const told = lines.map((line) => ({ ...line, points: pointsOf(line.curve, scaleOf(facts), names) }));
  const lengths = [...new Set(told.flatMap(({ points }) => points.map((point) => point.length)))].sort((a, b) => a - b);
  const domain = facts && !names.length ? [facts.first, facts.last] : [lengths[0], lengths.at(-1)];
  const across = names.length
    ? { domain: [-0.5, names.length - 0.5], ticks: names.map((_, index) => index), text: (index) => shortName(names[index], width / names.length), label: "part of the test" }
    : isText(facts) && growByFactors(lengths)
      ? { domain, log: true, ticks: lengths, label: "length" }
      : { domain, ticks: roundTicks(domain, 5), label: "length" };
  const { svg, x, y } = frame({ width, height, x: across, y: valueAxis(facts, told.flatMap(({ points }) => points)) });
  const chance = isText(facts) ? [] : chancePointsOf(facts);
  if (chance.length) svg.append(draw("path", { class: "chance", d: `M${chance.map((p) => `${x(p.length)},${y(p.mean)}`).join("L")}` }));
  const curves = told.map((line) => drawCurve(line, x, y, seeds ? scaleOf(facts) : 0));
  svg.append(...curves.map(({ band }) => band), ...curves.map(({ line }) => line));
  return readable({
    svg,
    height,
    label: described(task, facts, lines, chance),
    at: lengths.map((value) => ({ value, x: x(value) })),
    tell: (length) => toldAt(length, told, facts, names),
  });
}

/** Say whether lengths are like 32, 64, 128: they then stand as far apart as each other. */
const growByFactors = (lengths) => lengths.length > 2 && lengths.every((length, index) => length > 0 && (!index || length >= 1.5 * lengths[index - 1]));

const shortName = (name, room) => (6 * name.length <= room ? name : `${name.slice(0, Math.max(1, Math.floor(room / 6) - 1))}…`);

/** Return a model's band, and its line with dots; the seeds' lines are thin, `scale` is 0 without them. */
function drawCurve({ model, curve, colour, dashed, points }, x, y, scale) {
  const style = `--colour: ${colour}`;
  const ends = (end) => points.map((point) => [x(point.length), y(point[end])]);
  const single = points.length === 1; // a test of one cell: a rule, not an area
  const around = single ? path([...ends("low"), ...ends("high")]) : `${path([...ends("high"), ...ends("low").reverse()])}Z`;
  const band = draw("path", { class: single ? "rule" : "band", style, d: around });
  const thin = (scale ? (curve.seeds ?? []) : []).map((values) =>
    draw("path", { class: "seed", d: path(values.map((value, index) => [x(points[index].length), y(value * scale)])) }),
  );
  const dots = points.length > 60 ? [] : ends("mean").map(([cx, cy]) => draw("circle", { cx, cy, r: 1.9 }));
  const line = draw("g", { class: dashed ? "curve dashed" : "curve", style, "data-model": model }, ...thin, draw("path", { class: "line", d: path(ends("mean")) }), ...dots);
  return { band, line };
}

/** Return what the models reach at a length, as text and as elements with their colours. */
function toldAt(length, told, facts, names) {
  const [place, at] = names.length ? [names[length], names[length]] : [`length ${length}`, `at ${length}`];
  const found = told
    .map((line) => ({ ...line, point: line.points.find((point) => point.length === length) }))
    .filter(({ point }) => point);
  const name = (one) => (one.dashed ? `${one.model} (not learned)` : one.model);
  const said = ({ point: { mean, low, high } }) => `${numberOn(facts, mean)} (${numberOn(facts, low)} … ${numberOn(facts, high)})`;
  return {
    text: `${place}: ${found.map((one) => `${name(one)} ${said(one)}`).join(", ")}`,
    parts: [
      make("span", { class: "at" }, at),
      ...found.map((one) =>
        make("span", { title: said(one) }, make("i", { class: "dot", style: `--colour: ${one.colour}` }), `${name(one)} `, make("b", {}, numberOn(facts, one.point.mean))),
      ),
    ],
  };
}

function described(task, facts, lines, chance) {
  const names = lines.map((line) => line.model).join(", ") || "no model chosen";
  if (isText(facts)) return `${measureTold(facts)}, on ${task}: ${names}`;
  const [least, most] = [Math.min, Math.max].map((of) => of(...chance.map((point) => point.mean)).toFixed(1));
  const level = chance.length ? `; chance is ${least === most ? least : `${least} to ${most}`} percent` : "";
  return `Accuracy in percent against string length on ${task}: ${names}${level}`;
}

/** Return a chart with its caption; the title leads to the task. */
function figure(board, task, lines, options = {}) {
  const facts = own(board.facts, task);
  const title = options.untitled ? "" : link("task", task);
  const facing = lines.length ? curveChart({ task, facts, lines, ...options }) : [noCurve()];
  return make("figure", { class: "chart" }, make("figcaption", {}, title), ...facing);
}

const noCurve = () => make("p", { class: "quiet empty" }, "No curve. Choose a model that was tested on this task.");

/** Return the lines of the chosen models on a task. */
function chosenLines(board, task, choice) {
  return board.rows
    .filter((row) => choice.has(row.model))
    .map((row) => lineOf(row, own(row.results, task)))
    .filter((line) => line.curve);
}

/** Everything on the page that depends on which board is shown. */
function boardChanged() {
  const board = shownBoard();
  if (!board) return;
  const tasks = drawnTasks(board);
  const choice = firstChoice(board, tasks);
  const drawCurves = () => byId("charts").replaceChildren(...tasks.map((task) => figure(board, task, chosenLines(board, task, choice))));
  byId("chooser").replaceChildren(chooser(drawnRows(board, tasks), choice, drawCurves));
  drawCurves();
  startCost();
}
