// Small drawings beside numbers that say the same, so they are hidden from screen readers; and what is copied.

const MARK = { width: 112, height: 14, margin: 5, tick: 3, dot: 2.5 };

/** A mark for a cell of the board. */
const SMALL = { width: 48, height: 9, margin: 3, tick: 0, dot: 2.25 };

const spot = (share, { margin, width } = MARK) => (margin + Math.min(1, Math.max(0, share)) * (width - 2 * margin)).toFixed(1);

const markLine = (kind, from, to, size = MARK) =>
  draw("line", { class: kind, x1: spot(from, size), x2: spot(to, size), y1: size.height / 2, y2: size.height / 2 });

const tick = (share, kind = "tick", size = MARK) =>
  draw("line", { class: kind, x1: spot(share, size), x2: spot(share, size), y1: size.tick, y2: size.height - size.tick });

const dot = (share, hollow = false, size = MARK) =>
  draw("circle", { class: hollow && "hollow", cx: spot(share, size), cy: size.height / 2, r: size.dot });

const HIDDEN = { class: "interval", "aria-hidden": "true", focusable: "false" };

function mark(parts, { width, height } = MARK, attributes = HIDDEN) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, ...attributes }, ...parts);
}

/** Every seed a dot from 0 to 100 %, hollow if it did not learn; a bar for the interval, a tick at chance. */
const seedDots = (result, facts) => mark([tick(0), tick(1), ...seedParts(result, facts, MARK)]);

function seedParts(result, facts, size) {
  const tested = result.runs.filter((run) => run.accuracy != null);
  const dots = tested.map((run) => dot(run.accuracy, !run.learned, size));
  const bar = result.low == null ? null : markLine("bar", result.low, result.high, size);
  return [markLine("scale", 0, 1, size), facts ? tick(facts.chance_length, "chance", size) : null, bar, ...dots];
}

/** A lead from -100 to 100 points: a bar for the interval, a dot for the value, a tick at 0. */
function leadGlyph(value, low, high) {
  const at = (lead) => (lead + 1) / 2;
  return mark([markLine("scale", 0, 1), tick(0.5), markLine("bar", at(low), at(high)), dot(at(value))]);
}

/** Every seed a dot at the steps that its training took, hollow if it did not learn. */
function stepDots(result) {
  const dots = result.runs.map((run) => dot(run.steps / result.budget, !run.learned));
  return mark([markLine("scale", 0, 1), tick(0), tick(1), ...dots]);
}

const STRIP = { width: 240, height: 22 };

/**
 * Accuracy over length as a strip: a field per tested length, the darker the further above chance; below it
 * every seed a dot, higher for more. What was not learned is grey.
 */
function strip(result, facts) {
  const { width, height } = STRIP;
  const { curve } = result;
  const grey = unlearned(result);
  const wide = width / curve.length.length;
  const scaled = (share, chance) => Math.max(0, (share - chance) / (DATA.digits - chance || 1));
  const fields = curve.mean.map((share, index) =>
    draw("rect", { class: grey ? "unlearned" : "field", style: `--share:${grey ? 0 : scaled(share, chanceAt(facts, curve.length[index])).toFixed(3)}`, x: (index * wide).toFixed(2), y: 0, width: (wide + 0.3).toFixed(2), height }),
  );
  const dots = (curve.seeds ?? [curve.mean]).flatMap((shares) =>
    shares.map((share, index) => draw("circle", { cx: ((index + 0.5) * wide).toFixed(1), cy: (height - 3 - (share / DATA.digits) * (height - 6)).toFixed(1), r: Math.min(1.6, wide / 3).toFixed(2) })),
  );
  return draw("svg", { class: "strip", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": stripText(result, facts) }, ...fields, ...dots);
}

/** Return the chance level at a length, out of DATA.digits; it has two points where it is the same at all. */
function chanceAt(facts, length) {
  const { length: lengths = [], chance = [] } = facts.chance_curve ?? {};
  return chance[Math.max(0, lengths.indexOf(length))] ?? facts.chance_length * DATA.digits;
}

/** Say what a strip shows. */
function stripText(result, facts) {
  const { length, mean } = result.curve;
  if (unlearned(result)) return `not learned: validation ${percent(result.validation)} %`;
  const told = [0, length.length >> 1, length.length - 1].map((index) => `${percent(mean[index] / DATA.digits)} % at length ${length[index]}`);
  return `${[...new Set(told)].join(", ")}; chance ${percent(facts.chance_length)} %`;
}

/** Return a line of code with a button that copies it. */
function copyable(text, { name = "command", shown = text } = {}) {
  const code = make("code", { tabindex: 0 }, shown); // it scrolls, so keys must reach it
  const said = make("span", { class: "quiet", role: "status" });
  const button = make("button", { type: "button", class: "action", "aria-label": `Copy the ${name}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code); // a browser may keep the clipboard to itself
      said.textContent = "selected: copy it with your keyboard";
    }
  });
  return make("div", { class: "copyable" }, code, button, said);
}
