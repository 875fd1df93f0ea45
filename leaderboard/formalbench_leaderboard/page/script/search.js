// One search over models, tasks, suites and classes: by name, else by summary and keywords.

const MOST_HITS = 6;

const GROUPS = [
  ["Classes of languages", ["class"]],
  ["Models", ["model", "exact"]],
  ["Tasks", ["task"]],
  ["Suites", ["suite"]],
];

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
function found(kinds, query, among = ENTRIES) {
  const all = among.filter((entry) => kinds.includes(entry.kind));
  const inside = DATA.boards.flatMap((board) => own(board.by_class, classNamed(query))?.tasks ?? []);
  const words = plain(query).split(/\s+/).filter(Boolean).map(spelled);
  if (inside.length && kinds.includes("task")) {
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
  const near = VOCABULARY.map((other) => ({ other, apart: edits(word, other) })).sort((a, b) => a.apart - b.apart)[0];
  return near && near.apart <= (word.length < 8 ? 1 : 2) ? near.other : word;
}

/** Return how many letters to add, leave out, change or swap with the next make one word another. */
function edits(one, other) {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1];
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const least = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + !same);
      rows[i].push(swapped ? Math.min(least, rows[i - 2][j - 2] + 1) : least);
    }
  }
  return rows[one.length][other.length];
}

/** Return the two measured models that "A vs B" names, or null. */
function versus(query) {
  const sides = /^(.+?)\s+(?:vs\.?|versus|against)\s+(.+)$/i.exec(query.trim())?.slice(1);
  const models = sides?.map((side) => found(["model", "exact"], side, ENTRIES.filter((entry) => !entry.command))[0]?.name);
  return models?.every(Boolean) ? models : null;
}

/** Return what of a board is meant: its models and its tasks by their names, or else by their texts; null for all. */
function hitsOn(board) {
  const everything = { models: null, tasks: null };
  if (!asked.q.trim()) return everything;
  const compared = versus(asked.q);
  if (compared) return { models: new Set(compared), tasks: null };
  if (classNamed(asked.q)) return { models: null, tasks: new Set(own(board.by_class, classNamed(asked.q))?.tasks) };
  const among = (kinds, names) => found(kinds, asked.q, ENTRIES.filter((entry) => names.includes(entry.name))).map((entry) => entry.name);
  const models = among(["model", "exact"], board.rows.map((row) => row.model));
  const tasks = among(["task"], board.tasks);
  const words = plain(asked.q).split(/\s+/).filter(Boolean).map(spelled);
  const having = (names, test) => names.some((name) => test.call(words, (word) => joined(name).includes(joined(word))));
  const named = having(tasks, words.every);
  const both = !named && !having(models, words.every) && having(tasks, words.some) && having(models, words.some);
  if (both) return { models: new Set(models), tasks: new Set(tasks) };
  if (models.length && !named) return { models: new Set(models), tasks: null };
  return tasks.length ? { models: null, tasks: new Set(tasks) } : everything;
}

/** Show what was found below the search: links to what is here, commands for what is not. */
function showHits() {
  const query = asked.q.trim();
  const compared = versus(query);
  const comparison = compared && make("a", { href: address("compare", ...compared) }, `Compare ${compared.join(" with ")}`);
  const hitsOf = ([title, kinds]) => [title, byPresence(found(kinds, query), query)];
  const groups = query && !compared ? GROUPS.map(hitsOf).filter(([, hits]) => hits.length) : [];
  const exact = ([, hits]) => hits.some((one) => one.joined === joined(query));
  groups.sort((a, b) => exact(b) - exact(a));
  byId("hits").replaceChildren(
    ...(comparison ? [make("h2", {}, "Comparison"), make("ul", {}, make("li", {}, comparison))] : []),
    ...groups.flatMap(([title, hits]) => [
      make("h2", {}, title),
      make("ul", {}, ...hits.slice(0, MOST_HITS).map(hit)),
      hits.length > MOST_HITS ? make("p", { class: "quiet" }, `and ${hits.length - MOST_HITS} more`) : null,
    ]).filter(Boolean),
    ...(query && !comparison && !groups.length ? [make("p", { class: "quiet" }, "No model, task, suite or class matches.")] : []),
  );
  byId("hits").hidden = !query;
}

/** The one of exactly this name comes first, then what is on the page. */
const byPresence = (hits, query) => [...hits].sort((a, b) => (b.joined === joined(query)) - (a.joined === joined(query)) || !b.command - !a.command);

function hit({ kind, name, command, summary }) {
  if (kind === "class") return make("li", {}, classLink(name), make("span", { class: "quiet" }, ": rank by its tasks on this board"));
  const shown = command ? make("span", {}, name) : make("a", { href: address(kind === "task" ? "task" : "model", name) }, name);
  const more = command && make("code", {}, command);
  return make("li", {}, shown, summary ? make("span", { class: "quiet" }, ` ${summary}`) : null, more);
}

const classLink = (name) => make("a", { href: `?class=${encodeURIComponent(name)}#board`, "data-class": name }, name);

function startSearch() {
  const [form, query] = [byId("search"), byId("query")];
  const links = () => [...byId("hits").querySelectorAll("a")];
  form.hidden = false;
  query.addEventListener("input", () => ask({ q: query.value }, false));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    links()[0]?.click();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement !== query) query.focus();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const places = [query, ...links()];
    places[(places.indexOf(document.activeElement) + step + places.length) % places.length].focus();
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
