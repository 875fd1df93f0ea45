// Curves in the frames that Python drew, which pointer and keys read; and strips of accuracy over length.

const MOST = 8; // curves at a time

/** Return where an axis puts a value: logarithmic or not, the values at its ends, and their places. */
function placeOn(axis) {
  const [log, first, last, from, to] = axis.split(" ").map(Number);
  const at = log ? Math.log : Number;
  return (value) => Number((from + ((at(value) - at(first)) / (at(last) - at(first) || 1)) * (to - from)).toFixed(1));
}

const path = (points) => points.map(([x, y], index) => `${index ? "L" : "M"}${x},${y}`).join("");

/** Put the chart of some models into a figure; with `seeds`, thin lines show each seed. */
function drawFigure(figure, models, seeds = false) {
  const { board, chart, task } = figure.dataset;
  const rows = DATA.boards[board].rows.filter((row) => models.includes(row.model));
  const found = rows.map((row) => ({ ...row, curve: DATA.curves[row.results[task]] }));
  const lines = found.filter(({ curve }) => curve);
  figure.querySelectorAll(".plot, .readout, .empty").forEach((part) => part.remove());
  if (!lines.length) return figure.append(make("p", { class: "quiet empty" }, "No curve. Choose a model that was tested on this task."));
  const size = figure.closest(".single") && byId("main").clientWidth > 480 ? "large" : "small";
  const svg = document.importNode(MADE.querySelector(`[data-frame="${chart} ${size}"]`), true);
  const [x, y] = [placeOn(svg.dataset.x), placeOn(svg.dataset.y)];
  const names = JSON.parse(svg.dataset.names || "[]");
  for (const { curve } of lines) curve.at = curve.names?.map((name) => names.indexOf(name)) ?? curve.length;
  const curves = lines.map((line) => drawCurve(line, x, y, seeds));
  svg.append(...curves.map(({ band }) => band), ...curves.map(({ line }) => line));
  figure.append(...readable(svg, lines, names, x));
}

/** Return a model's band, and its line with dots; the lines of single seeds are thin. */
function drawCurve({ model, colour, curve }, x, y, seeds) {
  const style = `--colour:${colour}`;
  const points = (values) => values.map((value, index) => [x(curve.at[index]), y(value)]);
  const [low, high] = [points(curve.low), points(curve.high)];
  const single = low.length === 1; // a test of one cell: a rule, not an area
  const band = draw("path", { class: single ? "rule" : "band", style, d: single ? path([...low, ...high]) : `${path([...high, ...low.reverse()])}Z` });
  const dots = curve.mean.length > 60 ? [] : points(curve.mean).map(([cx, cy]) => draw("circle", { cx, cy, r: 1.9 }));
  const thin = ((seeds && curve.seeds) || []).map((values) => draw("path", { class: "seed", d: path(points(values)) }));
  const line = draw("path", { class: "line", d: path(points(curve.mean)) });
  return { band, line: draw("g", { class: curve.dashed ? "curve dashed" : "curve", style, "data-model": model }, ...thin, line, ...dots) };
}

/** Let a reader move along a chart, by pointer or by the arrow keys; below it is what the models reach there. */
function readable(svg, lines, names, x) {
  const { unit, label, after } = svg.dataset;
  const places = [...new Set(lines.flatMap(({ curve }) => curve.at))].sort((a, b) => a - b);
  const number = (value) => (unit ? (value * unit).toFixed(1) : value < 1e9 ? value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : value.toExponential(2));
  const cursor = draw("path", { class: "cursor", d: "" });
  svg.append(cursor);
  const shown = make("p", { class: "readout" });
  const said = `${label} ${lines.map(({ model }) => model).join(", ")}${after}`;
  const last = places.length - 1;
  const slider = make("input", { type: "range", min: 0, max: last, "aria-label": said });
  const box = make("div", { class: "plot" }, svg, slider);
  const move = (index, visible = true) => {
    slider.value = index;
    const place = places[index];
    const found = lines.filter(({ curve }) => curve.at.includes(place)).map(({ model, colour, curve }) => {
      const [mean, low, high] = [curve.mean, curve.low, curve.high].map((values) => number(values[curve.at.indexOf(place)]));
      return { name: curve.dashed ? `${model} (not learned)` : model, colour, mean, ends: `${mean} (${low} … ${high})` };
    });
    cursor.setAttribute("d", visible ? `M${x(place)},12V${svg.height.baseVal.value - 34}` : "");
    slider.setAttribute("aria-valuetext", `${names[place] ?? `length ${place}`}: ${found.map(({ name, ends }) => `${name} ${ends}`).join(", ")}`);
    const parts = found.map(({ name, colour, mean, ends }) =>
      make("span", { title: ends }, make("i", { class: "dot", style: `--colour:${colour}` }), `${name} `, make("b", {}, mean)),
    );
    shown.replaceChildren(make("span", { class: "at" }, names[place] ?? `at ${place}`), ...parts);
  };
  for (const moved of ["input", "focus"]) slider.addEventListener(moved, () => move(slider.valueAsNumber));
  box.addEventListener("pointermove", (event) => {
    const drawnAt = svg.getBoundingClientRect();
    const at = ((event.clientX - drawnAt.left) / drawnAt.width) * svg.viewBox.baseVal.width;
    move(places.reduce((best, place, index) => (Math.abs(x(place) - at) < Math.abs(x(places[best]) - at) ? index : best), 0));
  });
  for (const left of ["focusout", "pointerleave"]) box.addEventListener(left, () => move(last, false));
  move(last, false);
  return [box, shown];
}

/** Draw the charts of a part of a page, of the models that are chosen there. */
function drawCurves(part) {
  const boxes = [...part.querySelectorAll("fieldset input")];
  const models = boxes.filter((box) => box.checked).map((box) => box.value);
  for (const box of boxes) box.disabled = !box.checked && models.length >= MOST;
  const note = part.querySelector("[aria-live]");
  if (note) note.textContent = models.length >= MOST ? `${MOST} at a time: take one out to choose another.` : "";
  for (const figure of part.querySelectorAll("figure.chart")) drawFigure(figure, models);
}

/** Return a small drawing beside numbers: lines and dots from 0 to 1. */
function glyph(parts, told) {
  const said = told ? { role: "img", "aria-label": told } : { "aria-hidden": "true" };
  return draw("svg", { class: "interval seeds", viewBox: "0 0 48 9", width: 48, height: 9, ...said }, mark("scale", 0, 1), ...parts);
}

const spot = (share) => (3 + 42 * Math.min(1, Math.max(0, share))).toFixed(2);
const mark = (kind, from, to = from, [y1, y2] = [4.5, 4.5]) => draw("line", { class: kind, x1: spot(from), x2: spot(to), y1, y2 });
const dot = (share, hollow = false) => draw("circle", { class: hollow && "hollow", cx: spot(share), cy: 4.5, r: 2.25 });
const numbersOf = (result, name, parts) => cellOf(result, name).textContent.replaceAll(",", "").split(parts).map(Number.parseFloat);
const hollowOf = (result, name) => (cellOf(result, name).dataset.hollow ?? "").split(" ").filter(Boolean).map(Number);

/** Return the seeds of a result: a dot for each, hollow if it did not learn, a bar for the interval, dashes at chance. */
function seedsOf(result) {
  const { chance } = cellOf(result, "seeds").dataset;
  if (!chance) return null;
  const hollow = hollowOf(result, "seeds");
  const each = numbersOf(result, "each", " · ").map((share, seed) => ({ share, hollow: hollow.includes(seed) })).filter(({ share }) => !isNaN(share));
  const told = each.map(({ share, hollow }) => share.toFixed(1) + (hollow ? " (not learned)" : "")).join(", ");
  const [low, high] = numbersOf(result, "interval", " … ");
  const bar = isNaN(low) ? [] : [mark("bar", low / 100, high / 100)];
  const parts = [mark("chance", chance / 100, chance / 100, [0, 9]), ...bar, ...each.map(({ share, hollow }) => dot(share / 100, hollow))];
  return glyph(parts, `seeds ${told}; 95 % interval of the mean ${cellOf(result, "interval").textContent}; chance ${chance}`);
}

/** Return the steps of each seed out of the budget. */
function stepsOf(result) {
  const [budget] = numbersOf(result, "budget", " ");
  const hollow = hollowOf(result, "steps");
  return glyph(numbersOf(result, "steps", " · ").map((steps, seed) => dot(steps / budget, hollow.includes(seed))));
}

/** Fill a strip: a field per tested length, the darker the further above chance; every seed a dot, higher for more. */
function drawStrip(svg) {
  const { result, chart } = svg.dataset;
  const [curve, chances] = [DATA.curves[result], DATA.chances[chart]];
  const grey = cellOf(result, "checked").classList.contains("unlearned");
  const wide = 240 / curve.length.length;
  const at = [...new Set([0, curve.length.length >> 1, curve.length.length - 1])];
  const told = at.map((index) => `${percent(curve.mean[index] / DATA.digits)} % at length ${curve.length[index]}`).join(", ");
  const learned = `${told}; chance ${cellOf(result, "seeds").dataset.chance} %`;
  svg.setAttribute("aria-label", grey ? `not learned: validation ${cellOf(result, "checked").textContent} %` : learned);
  curve.mean.forEach((share, index) => {
    const chance = chances.chance[Math.max(0, chances.length.indexOf(curve.length[index]))] ?? DATA.digits;
    const above = grey ? 0 : Math.max(0, (share - chance) / (DATA.digits - chance || 1)).toFixed(3);
    svg.append(draw("rect", { class: grey ? "unlearned" : "field", style: `--share:${above}`, x: (index * wide).toFixed(2), y: 0, width: (wide + 0.3).toFixed(2), height: 22 }));
  });
  for (const shares of curve.seeds ?? [curve.mean])
    shares.forEach((share, index) =>
      svg.append(draw("circle", { cx: ((index + 0.5) * wide).toFixed(1), cy: (19 - (share / DATA.digits) * 16).toFixed(1), r: Math.min(1.6, wide / 3).toFixed(2) })),
    );
}
