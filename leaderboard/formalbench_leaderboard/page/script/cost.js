// Score against what it cost: seconds of training, or parameters.

const COSTS = {
  seconds: { text: "training time", label: "seconds of training of one run (log)", value: (row) => row.seconds },
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
    .map((row) => ({ model: row.model, colour: colourOf(row), x: cost.value(row), y: 100 * row.score, low: 100 * row.low, high: 100 * row.high }));
  const chart = points.length ? costChart(points, cost) : make("p", { class: "quiet" }, "No times are recorded.");
  byId("cost-chart").replaceChildren(chart);
}

function costChart(points, cost) {
  const width = Math.max(320, Math.min(920, byId("main").clientWidth - 2));
  const height = 440;
  const xs = points.map((point) => point.x);
  const domain = [Math.min(...xs) / 1.15, Math.max(...xs) * 1.15];
  const low = Math.min(0, ...points.map((point) => point.low));
  const { svg, x, y } = frame({
    width,
    height,
    x: { domain, log: true, ticks: logTicks(domain), text: short, label: cost.label },
    y: { ...Y_AXIS, domain: [low, 100], label: "score" },
  });
  const places = points.map((point) => ({ ...point, x: x(point.x), y: y(point.y), low: y(point.low), high: y(point.high) }));
  const labels = placed(places, { left: EDGE.left, right: width });
  svg.append(
    ...places.map((place) => draw("path", { class: "rule", style: `--colour: ${place.colour}`, d: `M${place.x},${place.low}V${place.high}` })),
    ...labels.map(({ model, x, y, left, move }) =>
      draw("text", { class: left ? "name end" : "name", x: x + (left ? -9 : 9), y: y + move, dy: "0.32em" }, model),
    ),
    ...places.map((place, index) =>
      draw("a", { href: address("model", place.model), "aria-label": costTold(points[index], cost) },
        draw("title", {}, costTold(points[index], cost)), draw("circle", { cx: place.x, cy: place.y, r: 4, style: `--colour: ${place.colour}` })),
    ),
  );
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", `Score against ${cost.text}, ${points.length} models; the board's table has the numbers`);
  return svg;
}

const costTold = (point, cost) =>
  `${point.model}: score ${point.y.toFixed(1)} (${point.low.toFixed(1)} … ${point.high.toFixed(1)}), ${cost.text} ` +
  (cost === COSTS.seconds ? duration(point.x) : grouped(point.x));

/**
 * Give each point a label that lies on no other label and no other point's mark.
 *
 * Returns the points that have room for one, with `left` (it ends at the point) and `move` (pixels
 * down); the others say their name when they are pointed at.
 */
function placed(places, { left: first, right: last }) {
  const marks = places.map(({ x, y, low, high }) => rectangle(x - 4, Math.min(high, y - 4), 8, Math.max(8, low - high)));
  const taken = [];
  return [...places].sort((a, b) => a.y - b.y).flatMap((place) => {
    const long = 6.1 * place.model.length;
    const around = (move, left) => rectangle(place.x + (left ? -9 - long : 9), place.y + move - 6, long, 12);
    const own = places.indexOf(place);
    const free = ({ move, left }) => {
      const label = around(move, left);
      const inside = label.x > first && label.x + label.width < last;
      return inside && ![...taken, ...marks.filter((_, index) => index !== own)].some((other) => meet(label, other));
    };
    const best = PLACES.find(free);
    if (!best) return [];
    taken.push(around(best.move, best.left));
    return [{ ...place, ...best }];
  });
}

const PLACES = [0, -9, 9, -18, 18].flatMap((move) => [{ move, left: false }, { move, left: true }]);

const rectangle = (x, y, width, height) => ({ x, y, width, height });

const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
