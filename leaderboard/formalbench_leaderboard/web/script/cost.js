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
  const height = 460;
  const margins = { marginLeft: 36, marginRight: 20, marginTop: 28, marginBottom: 40 };
  const xs = points.map((point) => point.x);
  const domain = [Math.min(...xs) / 1.15, Math.max(...xs) * 1.15];
  const x = { type: "log", domain, label: cost.label, labelAnchor: "right", labelArrow: "none", tickFormat: "~s", ticks: 6, tickSize: 0 };
  const y = { domain: [Math.min(0, ...points.map((p) => p.low)), 100], label: "score", labelArrow: "none", tickSize: 0, grid: false };
  const labels = placed(points, { ...margins, width, height, domain, low: y.domain[0] });
  return Plot.plot({
    width,
    height,
    ...margins,
    ariaLabel: `Score against ${cost.text}, ${points.length} models; the board's table has the numbers`,
    x,
    y,
    marks: [
      Plot.gridY({ stroke: "var(--rule)", strokeOpacity: 1 }),
      Plot.ruleX(points, { x: "x", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 1.5, strokeOpacity: 0.55 }),
      Plot.dot(points, { x: "x", y: "y", r: 3.6, fill: "var(--accent)", href: (p) => address("model", p.model), ariaLabel: "model" }),
      ...labels.map((label) =>
        Plot.text([label], { x: "x", y: "y", text: "model", textAnchor: label.left ? "end" : "start", dx: label.left ? -9 : 9, dy: label.move, fill: "currentColor" }),
      ),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: costTold(cost), ...TIP })),
    ],
  });
}

const costTold = (cost) => (p) =>
  `${p.model}\nscore ${p.y.toFixed(1)} (${p.low.toFixed(1)} … ${p.high.toFixed(1)})\n${cost.text}: ` +
  (cost === COSTS.seconds ? duration(p.x) : grouped(p.x));

/**
 * Give each point a label that lies on no other label and no other point's mark.
 *
 * Returns the points that have room for one, with `left` (it ends at the point) and `move` (pixels
 * down); the others say their name when they are pointed at.
 */
function placed(points, box) {
  const wide = box.width - box.marginLeft - box.marginRight;
  const high = box.height - box.marginTop - box.marginBottom;
  const across = (x) => (Math.log(x / box.domain[0]) / Math.log(box.domain[1] / box.domain[0])) * wide;
  const down = (y) => ((100 - y) / (100 - box.low)) * high;
  const marks = points.map((p) => rectangle(across(p.x) - 4, Math.min(down(p.high), down(p.y) - 4), 8, Math.max(8, down(p.low) - down(p.high))));
  const taken = [];
  return [...points].sort((a, b) => b.y - a.y).flatMap((point) => {
    const long = 6.1 * point.model.length;
    const around = (move, left) => rectangle(across(point.x) + (left ? -9 - long : 9), down(point.y) + move - 6, long, 12);
    const own = points.indexOf(point);
    const free = ({ move, left }) => {
      const label = around(move, left);
      const inside = label.x > 0 && label.x + label.width < wide + box.marginRight;
      return inside && ![...taken, ...marks.filter((_, index) => index !== own)].some((other) => meet(label, other));
    };
    const best = PLACES.find(free);
    if (!best) return [];
    taken.push(around(best.move, best.left));
    return [{ ...point, ...best }];
  });
}

const PLACES = [0, -9, 9, -18, 18].flatMap((move) => [{ move, left: false }, { move, left: true }]);

const rectangle = (x, y, width, height) => ({ x, y, width, height });

const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
