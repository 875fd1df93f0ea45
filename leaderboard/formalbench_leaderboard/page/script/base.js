// The data, elements made of text alone, and numbers as text.

const DATA = JSON.parse(await unpacked(document.getElementById("data").textContent));
const MISSING = "–";

/** The views by the name that stands in the address; each file of a view adds its own. */
const VIEWS = {};

const byId = (id) => document.getElementById(id);

for (const board of DATA.boards)
  for (const row of board.rows) {
    const [tasks, results] = row.results;
    const whole = items(results).map((result) => ({ ...result, runs: items(result.runs) }));
    row.results = Object.fromEntries(tasks.map((task, index) => [task, whole[index]]));
  }

/** Return objects of columns: their keys, and below each its values. */
function items([keys, ...columns]) {
  return (columns[0] ?? []).map((_, index) => Object.fromEntries(keys.map((key, column) => [key, columns[column][index]])));
}

/** Return text that the page carries packed (page/page_data.py). */
async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

/** Look up a key that comes from a record: never something that every object has. */
const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);

/** Make an element; what is in it is elements or text, and text is never read as HTML. */
function make(name, attributes = {}, ...contents) {
  return filled(document.createElement(name), attributes, contents);
}

/** Make an element of a drawing. */
function draw(name, attributes = {}, ...contents) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, contents);
}

function filled(element, attributes, contents) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...contents.flat().filter((part) => part != null));
  return element;
}

const percent = (share, digits = 1) =>
  share == null ? MISSING : (100 * share).toFixed(digits).replace(/^-(0\.?0*)$/, "$1");

const interval = (low, high) => (low == null || high == null ? MISSING : `${percent(low)} … ${percent(high)}`);

const ranks = (low, high) => (low == null ? MISSING : low === high ? `${low}` : `${low}–${high}`);

const grouped = (number) => number.toLocaleString("en-US");

function short(number) {
  if (number < 1e4) return `${number}`;
  return number >= 999950 ? `${(number / 1e6).toFixed(2)} M` : `${(number / 1e3).toFixed(1)} k`;
}

function count([low, high]) {
  return short(low) === short(high) ? short(low) : `${short(low)} … ${short(high)}`;
}

function duration(seconds) {
  if (seconds == null) return MISSING;
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 6000 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const address = (kind, ...names) => `#${kind}=${names.map(encodeURIComponent).join(",")}`;

const link = (kind, name) => make("a", { href: address(kind, name) }, ...breakable(name));

/** Return the parts of a name, so that it breaks into lines before its options or within them. */
function breakable(name) {
  const bracket = name.indexOf("[");
  if (bracket < 1) return [name];
  const options = name.slice(bracket).split(/(?<==)|(?<=, )/);
  const inside = options.flatMap((part, index) => (index ? [make("wbr"), part] : [part]));
  return [name.slice(0, bracket), make("wbr"), make("span", { class: "options" }, ...inside)];
}

/** Return the elements of a drawing that came with the data; Python made it, and escaped its texts. */
const drawn = (svg) => document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);

/** Return all tasks of a board, the ranked ones first. */
const tasksOf = (board) => [...board.tasks, ...board.other_tasks];
