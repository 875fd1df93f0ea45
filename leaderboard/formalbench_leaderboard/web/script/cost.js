// Score against what it cost: seconds of training, or parameters.

const COSTS = {
  seconds: { text: "training time", label: "seconds of training, one seed on every task (log)", value: (row) => row.seconds },
  parameters: { text: "parameters", label: "parameters, the most over the tasks (log)", value: (row) => row.parameters[1] },
};

function startCost() {
  const radios = Object.entries(COSTS).map(([key, { text }], index) =>
    make(
      "label",
      { class: "chip plain" },
      make("input", { type: "radio", name: "cost", value: key, checked: index === 0, on: { change: () => drawCost(key) } }),
      make("span", {}, text),
    ),
  );
  byId("cost-controls").replaceChildren(make("fieldset", {}, make("legend", {}, "Cost"), ...radios));
  drawCost("seconds");
}

function drawCost(key) {
  const cost = COSTS[key];
  const points = shownBoard()
    .rows.filter((row) => row.score != null && cost.value(row) > 0)
    .map((row) => ({ model: row.model, x: cost.value(row), y: 100 * row.score, low: 100 * row.low, high: 100 * row.high }));
  const chart = points.length ? costChart(points, cost) : make("p", { class: "quiet" }, "No record tells it.");
  byId("cost-chart").replaceChildren(chart);
}

function costChart(points, cost) {
  const width = Math.max(320, Math.min(920, byId("main").clientWidth - 2));
  const height = width < 500 ? 440 : 460;
  const narrow = width < 500;
  const margins = { marginLeft: 36, marginRight: narrow ? 20 : 150, marginTop: 16, marginBottom: 40 };
  const xs = points.map((point) => point.x);
  const domain = [Math.min(...xs) / 1.15, Math.max(...xs) * 1.15];
  const x = { type: "log", domain, label: cost.label, labelAnchor: "right", labelArrow: "none", tickFormat: "~s", ticks: 6, tickSize: 0 };
  const y = { domain: [Math.min(0, ...points.map((p) => p.low)), 100], label: "score", labelArrow: "none", tickSize: 0, grid: false };
  const labels = narrow ? [] : placed(points, { ...margins, width, height, domain, low: y.domain[0] });
  return Plot.plot({
    width,
    height,
    ...margins,
    ariaLabel: `Score against ${cost.text}, ${points.length} models; the board's table has the numbers`,
    x,
    y,
    marks: [
      Plot.gridY({ stroke: "var(--rule)", strokeOpacity: 1 }),
      Plot.link(labels.filter((l) => l.moved), { x1: "x", x2: "x", y1: "y", y2: "at", stroke: "var(--rule)", dx: 6 }),
      Plot.ruleX(points, { x: "x", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 1.5, strokeOpacity: 0.55 }),
      Plot.dot(points, { x: "x", y: "y", r: 3.6, fill: "var(--accent)", href: (p) => address("model", p.model), ariaLabel: "model" }),
      Plot.text(labels, { x: "x", y: "at", text: "model", textAnchor: "start", dx: 9, fill: "currentColor" }),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: costTold(cost), fill: "var(--raised)", stroke: "var(--rule)" })),
    ],
  });
}

const costTold = (cost) => (p) =>
  `${p.model}\nscore ${p.y.toFixed(1)} (${p.low.toFixed(1)} … ${p.high.toFixed(1)})\n${cost.text}: ` +
  (cost === COSTS.seconds ? duration(p.x) : grouped(p.x));

/** Move labels apart that would lie on each other: from the top down, each below the last. */
function placed(points, box) {
  const across = (x) =>
    (Math.log(x / box.domain[0]) / Math.log(box.domain[1] / box.domain[0])) * (box.width - box.marginLeft - box.marginRight);
  const unit = (box.height - box.marginTop - box.marginBottom) / (100 - box.low);
  const done = [];
  for (const point of [...points].sort((a, b) => b.y - a.y)) {
    let at = point.y;
    const wide = 6.2 * point.model.length + 12;
    const hits = (other) =>
      Math.abs(other.at - at) * unit < 12.5 &&
      across(point.x) < across(other.x) + other.wide && across(other.x) < across(point.x) + wide;
    for (let other = done.find(hits); other; other = done.find(hits)) at = other.at - 13 / unit;
    done.push({ ...point, at, wide, moved: Math.abs(at - point.y) * unit > 8 });
  }
  return done;
}
