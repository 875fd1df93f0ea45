// The data and the views that Python made, elements made of text alone, and numbers as text.

const DATA = JSON.parse(await unpacked(byId("data").textContent));

/** The views, the results that their tables share, and the frames of the charts. */
const MADE = new DOMParser().parseFromString(await unpacked(byId("views").textContent), "text/html");
const ARTICLES = new Map([...MADE.querySelectorAll("article")].map((article) => [article.dataset.view, article]));
const CELLS = Object.fromEntries([...MADE.getElementById("results").rows].map((row) => [row.dataset.cell, [...row.cells]]));

const MISSING = "–";

function byId(id) {
  return document.getElementById(id);
}

/** Return text that the page carries packed (page/page_data.py). */
async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

/** Return a cell of a result by its name, to read. */
const cellOf = (result, name) => CELLS[name][result];

/** Return a copy of a cell, to show: seeds and steps with a drawing. */
function copyOf(result, name) {
  const cell = document.importNode(cellOf(result, name), true);
  const drawn = name === "seeds" ? seedsOf(result) : name === "steps" ? stepsOf(result) : null;
  if (drawn) cell.prepend(drawn);
  return cell;
}

/** Look up a key that comes from a record: never something that every object has. */
const own = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);

/** Make an element; what is in it is elements or text, and text is never read as HTML. */
const make = (name, attributes = {}, ...contents) => filled(document.createElement(name), attributes, contents);

/** Make an element of a drawing. */
const draw = (name, attributes = {}, ...contents) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, contents);

function filled(element, attributes, contents) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...contents.flat().filter((part) => part != null));
  return element;
}

const percent = (share) => (100 * share).toFixed(1).replace(/^-(0\.0)$/, "$1");

const address = (kind, ...names) => `#${kind}=${names.map(encodeURIComponent).join(",")}`;

/** Return all tasks of a board, the ranked ones first. */
const tasksOf = (board) => [...board.tasks, ...board.other_tasks];
