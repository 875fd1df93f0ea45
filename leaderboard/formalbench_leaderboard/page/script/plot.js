// What charts are made of: a frame with two axes, and a cursor that pointer and keys move.

const EDGE = { left: 34, right: 14, top: 12, bottom: 34 };

/**
 * Draw the frame of a chart.
 *
 * x, y: { domain: [first, last], ticks: [value], text: (value) => string, label, log }.
 * Returns { svg, x, y }: the drawing, and where a value lies in it.
 */
function frame({ width, height, x, y }) {
  const across = scale(x, EDGE.left, width - EDGE.right);
  const down = scale(y, height - EDGE.bottom, y.label ? EDGE.top + 12 : EDGE.top); // the label lies above
  const text = ({ text }, value) => (text ? text(value) : `${value}`);
  const svg = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height },
    ...y.ticks.flatMap((value) => [
      draw("path", { class: "grid", d: `M${EDGE.left},${down(value)}H${width - EDGE.right}` }),
      draw("text", { class: "tick end", x: EDGE.left - 7, y: down(value), dy: "0.32em" }, text(y, value)),
    ]),
    ...x.ticks.map((value) => draw("text", { class: "tick middle", x: across(value), y: height - EDGE.bottom + 15 }, text(x, value))),
    draw("text", { class: "tick end", x: width - EDGE.right, y: height - 4 }, x.label),
    y.label ? draw("text", { class: "tick", x: 2, y: 10 }, y.label) : null,
  );
  return { svg, x: across, y: down };
}

function scale({ domain: [first, last], log }, from, to) {
  const place = log ? Math.log : (value) => value;
  const span = place(last) - place(first) || 1;
  return (value) => Number((from + ((place(value) - place(first)) / span) * (to - from)).toFixed(1));
}

/** Return about `count` round numbers between two. */
function roundTicks([first, last], count) {
  const rough = (last - first) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const ticks = [];
  for (let n = Math.ceil(first / step); n * step <= last; n++) ticks.push(n * step);
  return ticks;
}

/** Return powers of ten between two numbers, and twos and fives if these are few. */
function logTicks([first, last]) {
  const powers = [...Array(24).keys()].map((n) => 10 ** (n - 3));
  const inside = (factors) => powers.flatMap((power) => factors.map((f) => f * power)).filter((v) => v >= first && v <= last);
  return inside([1]).length > 2 ? inside([1]) : inside([1, 2, 5]);
}

const path = (points) => points.map(([x, y], index) => `${index ? "L" : "M"}${x},${y}`).join("");

/**
 * Let a reader move along a chart, by pointer or by the arrow keys.
 *
 * at: the places from left to right, [{ value, x }]; tell: returns for one of them { text, parts },
 * what is said and what is shown below the chart. The last one is shown first.
 */
function readable({ svg, height, label, at, tell }) {
  const cursor = draw("path", { class: "cursor", d: "" });
  svg.append(cursor);
  svg.setAttribute("aria-hidden", "true");
  const shown = make("p", { class: "readout" });
  const box = make("div", { class: "plot", tabindex: 0, role: "slider", "aria-label": label, "aria-valuemin": at[0].value, "aria-valuemax": at.at(-1).value }, svg);
  let now = at.length - 1;
  const move = (index, visible = true) => {
    now = Math.max(0, Math.min(at.length - 1, index));
    const { text, parts } = tell(at[now].value);
    cursor.setAttribute("d", visible ? `M${at[now].x},${EDGE.top}V${height - EDGE.bottom}` : "");
    box.setAttribute("aria-valuenow", at[now].value);
    box.setAttribute("aria-valuetext", text);
    shown.replaceChildren(...parts);
  };
  const keys = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity };
  box.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    move(now + keys[event.key]);
  });
  box.addEventListener("pointermove", (event) => {
    const drawnAt = svg.getBoundingClientRect();
    const x = ((event.clientX - drawnAt.left) / drawnAt.width) * svg.viewBox.baseVal.width;
    move(at.reduce((best, { x: place }, index) => (Math.abs(place - x) < Math.abs(at[best].x - x) ? index : best), 0));
  });
  box.addEventListener("focus", () => move(now));
  for (const left of ["blur", "pointerleave"]) box.addEventListener(left, () => move(at.length - 1, false));
  move(now, false);
  return [box, shown];
}
