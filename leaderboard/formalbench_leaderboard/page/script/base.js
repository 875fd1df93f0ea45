// The data and the views that Python made, elements made of text alone, and numbers as text.

/** The data; its objects have no prototype, since some keys come from records and could be names that every object has. */
const DATA = JSON.parse(await unpacked(byId("data").textContent), (_, value) =>
  value instanceof Object && !Array.isArray(value) ? Object.setPrototypeOf(value, null) : value,
);

/** The views, the results that their tables share, and the frames of the charts. */
const MADE = await unpackedPage(byId("views").textContent);
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

async function unpackedPage(packed) {
  return new DOMParser().parseFromString(await unpacked(packed), "text/html");
}

const cellOf = (result, name) => CELLS[name][result];

/** Return a copy of a cell, to show: seeds and steps with a drawing. */
function copyOf(result, name) {
  const cell = document.importNode(cellOf(result, name), true);
  cell.prepend({ seeds: seedsOf, steps: stepsOf }[name]?.(result) ?? "");
  return cell;
}

/** Make an element; what is in it is elements or text, and text is never read as HTML. */
const make = (name, attributes = {}, ...contents) => filled(document.createElement(name), attributes, contents);

const draw = (name, attributes = {}, ...contents) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, contents);

function filled(element, attributes, contents) {
  for (const [key, value] of Object.entries(attributes))
    if (value !== false && value != null) element.setAttribute(key, value);
  element.append(...contents.flat().filter((part) => part != null));
  return element;
}

const percent = (share) => (100 * share).toFixed(1).replace(/^-(0\.0)$/, "$1");

const address = (kind, ...names) => `#${kind}=${names.map(encodeURIComponent).join(",")}`;
