// A small automaton as a drawing: its states on a circle, in the order that makes edges short.

const RADIUS = 21;

/** Draw { transitions, classes, start } over an alphabet; with two classes 1 is a double circle. */
function drawAutomaton(machine, alphabet, classes, title) {
  const places = onCircle(shortOrder(machine), machine.transitions.length);
  const edges = joinedEdges(machine, alphabet);
  const parts = [
    draw("title", {}, title),
    draw("defs", {}, arrowHead()),
    startArrow(places[machine.start], edges.some((edge) => edge.from === machine.start && edge.to === machine.start)),
    ...edges.map((edge) => drawEdge(edge, places, edges)),
    ...places.map((place, state) => drawState(place, machine, state, classes)),
  ];
  const [left, top, right, bottom] = frame(places);
  const width = right - left;
  const height = bottom - top;
  return draw(
    "svg",
    { class: "automaton", viewBox: `${left} ${top} ${width} ${height}`, width, height, role: "img", "aria-label": title },
    ...parts,
  );
}

/** Return the edges with their symbols joined: [{ from, to, text }]. */
function joinedEdges({ transitions }, alphabet) {
  const found = new Map();
  transitions.forEach((row, from) =>
    row.forEach((to, symbol) => {
      const key = `${from} ${to}`;
      if (!found.has(key)) found.set(key, { from, to, symbols: [] });
      found.get(key).symbols.push(alphabet[symbol]);
    }),
  );
  return [...found.values()].map(({ from, to, symbols }) => ({ from, to, text: symbols.join(", ") }));
}

/** Return the states in the order around the circle, the first one first. */
function shortOrder({ transitions, start }) {
  const count = transitions.length;
  const pairs = transitions.flatMap((row, from) => row.map((to) => [from, to])).filter(([a, b]) => a !== b);
  const cost = (order) => {
    const at = [];
    order.forEach((state, position) => (at[state] = position));
    return pairs.reduce((sum, [a, b]) => sum + Math.sin((Math.PI * Math.abs(at[a] - at[b])) / count), 0);
  };
  const others = [...Array(count).keys()].filter((state) => state !== start);
  let best = [start, ...others];
  let least = cost(best);
  // Exchange pairs as long as that helps: enough for a dozen states, and the same everywhere.
  for (let improved = true; improved; ) {
    improved = false;
    for (let i = 1; i < count; i++) {
      for (let j = i + 1; j < count; j++) {
        const other = [...best];
        [other[i], other[j]] = [other[j], other[i]];
        if (cost(other) < least - 1e-9) {
          [best, least, improved] = [other, cost(other), true];
        }
      }
    }
  }
  return best;
}

/** Return the place of each state; the first of the order is at the left. */
function onCircle(order, count) {
  const radius = count === 1 ? 0 : Math.max(78, 17 * count + 22);
  const places = [];
  order.forEach((state, position) => {
    const angle = Math.PI + (2 * Math.PI * position) / count;
    places[state] = { x: radius * Math.cos(angle), y: radius * Math.sin(angle), angle };
  });
  return places;
}

function frame(places) {
  const room = RADIUS + 46;
  const xs = places.map((place) => place.x);
  const ys = places.map((place) => place.y);
  const round = (value) => Math.round(value);
  return [round(Math.min(...xs) - room), round(Math.min(...ys) - room), round(Math.max(...xs) + room), round(Math.max(...ys) + room)];
}

const arrowHead = () =>
  draw(
    "marker",
    { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
    draw("path", { d: "M0,1 L10,5 L0,9 z", class: "head" }),
  );

/** The start is at the left: its arrow comes from there, from above if a loop needs the room. */
function startArrow(place, loop) {
  const angle = Math.PI + (loop ? 0.55 : 0);
  const d = `M${at(polar(place, angle, RADIUS + 32))} L${at(polar(place, angle, RADIUS + 3))}`;
  return draw("path", { class: "edge", d, "marker-end": "url(#arrow)" });
}

function drawState({ x, y }, machine, state, classes) {
  const kind = machine.classes[state];
  const accepting = classes === 2 && kind === 1;
  return draw(
    "g",
    { class: accepting ? "state accepting" : "state", transform: `translate(${x.toFixed(1)},${y.toFixed(1)})` },
    draw("circle", { r: RADIUS }),
    accepting ? draw("circle", { r: RADIUS - 4 }) : null,
    draw("text", { dy: "0.35em" }, classes === 2 ? `${state}` : `${kind}`),
  );
}

function drawEdge(edge, places, edges) {
  const [from, to] = [places[edge.from], places[edge.to]];
  if (edge.from === edge.to) return drawLoop(edge, from);
  const both = edges.some((other) => other.from === edge.to && other.to === edge.from);
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const far = Math.hypot(dx, dy);
  const [ux, uy] = [dx / far, dy / far];
  const bend = both ? 20 : 9;
  const middle = { x: (from.x + to.x) / 2 + uy * bend * 2, y: (from.y + to.y) / 2 - ux * bend * 2 };
  const begin = toward(from, middle, RADIUS + 1);
  const end = toward(to, middle, RADIUS + 3);
  const halfway = { x: (begin.x + 2 * middle.x + end.x) / 4, y: (begin.y + 2 * middle.y + end.y) / 4 };
  const label = { x: halfway.x + uy * 13, y: halfway.y - ux * 13 };
  return draw(
    "g",
    {},
    draw("path", { class: "edge", d: `M${at(begin)} Q${at(middle)} ${at(end)}`, "marker-end": "url(#arrow)" }),
    draw("text", { class: "symbol", x: label.x.toFixed(1), y: label.y.toFixed(1), dy: "0.35em" }, edge.text),
  );
}

/** A loop points away from the middle of the circle; at the start it makes way for the arrow. */
function drawLoop(edge, place) {
  const out = Math.abs(Math.cos(place.angle) + 1) < 1e-9 ? Math.PI - 0.6 : place.angle;
  const point = (angle, far) => polar(place, angle, far);
  const begin = point(out - 0.45, RADIUS + 1);
  const end = point(out + 0.45, RADIUS + 3);
  const d = `M${at(begin)} C${at(point(out - 0.55, RADIUS + 34))} ${at(point(out + 0.55, RADIUS + 34))} ${at(end)}`;
  const label = point(out, RADIUS + 34);
  return draw(
    "g",
    {},
    draw("path", { class: "edge", d, "marker-end": "url(#arrow)" }),
    draw("text", { class: "symbol", x: label.x.toFixed(1), y: label.y.toFixed(1), dy: "0.35em" }, edge.text),
  );
}

const polar = ({ x, y }, angle, far) => ({ x: x + far * Math.cos(angle), y: y + far * Math.sin(angle) });

const at = ({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`;

function toward(place, target, far) {
  const distance = Math.hypot(target.x - place.x, target.y - place.y);
  return { x: place.x + ((target.x - place.x) / distance) * far, y: place.y + ((target.y - place.y) / distance) * far };
}
