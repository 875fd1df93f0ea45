// One search over models, tasks, suites and classes: by name, else by summary and keywords.

const MOST_HITS = 6;

const GROUPS = { class: "Classes of languages", model: "Models", task: "Tasks", suite: "Suites" };

/** Hyphens are spaces, and case is nothing. */
const plain = (text) => text.toLowerCase().replaceAll("-", " ");

/** Return a name without what people leave out: rwkv-7 is rwkv7. */
const joined = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

const ENTRIES = DATA.entries.map((entry) => ({
  ...entry,
  called: plain(entry.name),
  joined: joined(entry.name),
  words: plain(`${entry.name} ${entry.summary} ${entry.words}`),
}));
const VOCABULARY = [...new Set(ENTRIES.flatMap((entry) => entry.called.split(/[^\p{L}\p{N}]+/u)).filter((word) => word.length > 3))];

/** Return how well an entry fits a word: 3 it is its name, 2 the name has it, 1 its text, 0 not at all. */
function fit(entry, word) {
  const name = entry.joined.includes(joined(word)) && joined(word) !== "";
  if (name) return entry.joined === joined(word) ? 3 : 2;
  return entry.words.includes(word) ? 1 : 0;
}

/**
 * Return the entries that are meant, the best of each kind first. An entry that has all words is meant;
 * if there is none ("mamba parity"), the ones whose name begins with one. Of a class its tasks are meant. A word that no entry has
 * is read as the one most like it.
 */
function found(kind, query, among = ENTRIES) {
  const all = among.filter((entry) => entry.kind === kind);
  const inside = DATA.boards.flatMap((board) => board.by_class[classNamed(query)]?.tasks ?? []);
  const words = plain(query).split(/\s+/).filter(Boolean).map(spelled);
  if (inside.length && kind === "task") {
    const others = all.filter((entry) => !inside.includes(entry.name) && words.every((word) => fit(entry, word)));
    return [...all.filter((entry) => inside.includes(entry.name)), ...others];
  }
  if (!words.length) return [];
  const best = (entry) => fit(entry, words.join(" "));
  const having = (least) => all.filter((entry) => words.every((word) => fit(entry, word) >= least)).sort((a, b) => best(b) - best(a));
  const named = having(2);
  if (named.length) return named;
  const elsewhere = ENTRIES.some((entry) => words.every((word) => fit(entry, word)));
  if (elsewhere) return having(1);
  const begins = (entry, word) => joined(word) !== "" && entry.joined.startsWith(joined(word));
  const each = words.every((word) => ENTRIES.some((entry) => begins(entry, word)));
  return each ? all.filter((entry) => words.some((word) => begins(entry, word))) : [];
}

/** Return the class of languages of exactly this name, if there is one here. */
const classNamed = (query) => ENTRIES.find(({ kind, joined: name }) => kind === "class" && name === joined(query))?.name;

/** Return a word, or the word of a name that is most like it, if no entry has it. */
function spelled(word) {
  if (word.length < 4 || ENTRIES.some((entry) => fit(entry, word))) return word;
  const within = (edits) => VOCABULARY.find((other) => alike(word, other, edits));
  return within(1) ?? (word.length < 8 ? null : within(2)) ?? word;
}

/** Return whether some letters to add, leave out, change or swap with the next make one word another. */
function alike(one, other, edits) {
  if (one === other || edits < 0) return edits >= 0;
  if (one[0] === other[0]) return alike(one.slice(1), other.slice(1), edits);
  const pairs = [[1, 0], [0, 1], [1, 1]];
  if (one[0] === other[1] && one[1] === other[0]) pairs.push([2, 2]);
  return pairs.some(([first, second]) => alike(one.slice(first), other.slice(second), edits - 1));
}

/** Return the two measured models that "A vs B" names, or null. */
function versus(query) {
  const sides = /^(.+?)\s+(?:vs\.?|versus|against)\s+(.+)$/i.exec(query.trim())?.slice(1);
  const models = sides?.map((side) => found("model", side, ENTRIES.filter((entry) => !entry.command))[0]?.name);
  return models?.every(Boolean) ? models : null;
}

/** Return what of a board is meant: its models and its tasks by their names, or else by their texts; what is left out is all. */
function hitsOn(board) {
  if (!asked.q.trim()) return {};
  const compared = versus(asked.q);
  if (compared) return { models: new Set(compared) };
  if (classNamed(asked.q)) return { tasks: new Set(board.by_class[classNamed(asked.q)]?.tasks) };
  const among = (kind, names) => found(kind, asked.q, ENTRIES.filter((entry) => names.includes(entry.name))).map((entry) => entry.name);
  const models = among("model", board.rows.map((row) => row.model));
  const tasks = among("task", board.tasks);
  const words = plain(asked.q).split(/\s+/).filter(Boolean).map(spelled);
  const having = (names, test) => names.some((name) => test.call(words, (word) => joined(name).includes(joined(word))));
  const named = having(tasks, words.every);
  const both = !named && !having(models, words.every) && having(tasks, words.some) && having(models, words.some);
  if (both) return { models: new Set(models), tasks: new Set(tasks) };
  if (models.length && !named) return { models: new Set(models) };
  return tasks.length ? { tasks: new Set(tasks) } : {};
}

/** Show what was found below the search: links to what is here, commands for what is not. */
function showHits() {
  const query = asked.q.trim();
  const compared = versus(query);
  const exact = (entry) => entry.joined === joined(query);
  // The one of exactly this name comes first, then what is on the page.
  const hitsOf = (kind) => [...found(kind, query)].sort((a, b) => exact(b) - exact(a) || !b.command - !a.command);
  const groups = compared ? [] : Object.keys(GROUPS).map(hitsOf).filter((hits) => hits.length);
  groups.sort(([a], [b]) => exact(b) - exact(a));
  const parts = groups.flatMap((hits) => [
    make("h2", {}, GROUPS[hits[0].kind]),
    make("ul", {}, hits.slice(0, MOST_HITS).map(hit)),
    hits.length > MOST_HITS ? make("p", { class: "quiet" }, `and ${hits.length - MOST_HITS} more`) : "",
  ]);
  if (compared) {
    const link = make("a", { href: address("compare", ...compared) }, `Compare ${compared.join(" with ")}`);
    parts.push(make("h2", {}, "Comparison"), make("ul", {}, make("li", {}, link)));
  }
  if (!parts.length) parts.push(make("p", { class: "quiet" }, "No model, task, suite or class matches."));
  byId("hits").replaceChildren(...parts);
  byId("hits").hidden = !query;
}

function hit({ kind, name, command, summary }) {
  if (kind === "class") {
    const link = make("a", { href: `?class=${encodeURIComponent(name)}#board`, "data-class": name }, name);
    return make("li", {}, link, make("span", { class: "quiet" }, ": rank by its tasks on this board"));
  }
  const shown = command ? make("span", {}, name) : make("a", { href: address(kind, name) }, name);
  return make("li", {}, shown, summary && make("span", { class: "quiet" }, ` ${summary}`), command && make("code", {}, command));
}

function startSearch() {
  const query = byId("query");
  query.addEventListener("input", () => ask({ q: query.value }, false));
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Escape") query.focus();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const places = [query, ...byId("hits").querySelectorAll("a")];
    places.at((places.indexOf(document.activeElement) + step) % places.length).focus();
  });
  // A link in the list leads elsewhere: the list closes.
  byId("hits").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    document.activeElement.blur();
    if (!link.dataset.class) return;
    event.preventDefault();
    ask({ q: "", class: link.dataset.class });
    location.hash = "#board";
  });
}
