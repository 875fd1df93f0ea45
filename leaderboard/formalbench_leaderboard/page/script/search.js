// One search over models, tasks and suites: their names, or else what people call them.

const MOST_HITS = 6;

const COMMANDS = {
  model: (name) => `formalbench run --model ${name}`,
  exact: (name) => `formalbench verify ${name}`,
  task: (name) => `formalbench show task ${name}`,
  suite: (name) => `formalbench show suite ${name}`,
};

const GROUPS = [
  ["Models", ["model", "exact"]],
  ["Tasks", ["task"]],
  ["Suites", ["suite"]],
];

/** Hyphens are spaces, and case is nothing. */
const plain = (text) => text.toLowerCase().replaceAll("-", " ");

const ENTRIES = entries();

/** Return what can be found: what is on the page, and what could be measured. */
function entries() {
  const listed = new Map(DATA.catalogue.map((found) => [`${found.kind} ${found.name}`, found]));
  const seen = new Map();
  const add = (kind, name, here) => {
    const family = name.split(/[:[]/)[0];
    const about = listed.get(`${kind} ${name}`) ?? listed.get(`${kind} ${family}`) ?? listed.get(`exact ${family}`);
    const key = `${kind === "exact" ? "model" : kind} ${name}`;
    if (!seen.has(key)) seen.set(key, { kind: about?.kind ?? kind, name, here, summary: about?.summary ?? "", called: plain(name), words: plain(`${name} ${about?.summary ?? ""} ${about?.words ?? ""}`) });
  };
  for (const board of DATA.boards) {
    for (const row of board.rows) add("model", row.model, true);
    for (const task of tasksOf(board)) add("task", task, true);
  }
  for (const { kind, name } of DATA.catalogue) add(kind, name, false);
  return [...seen.values()];
}

/** Return the entries of some kinds that have all words: by their names, or if none has, in their texts. */
function found(kinds, query, among = ENTRIES) {
  const words = plain(query).split(/\s+/).filter(Boolean);
  const all = among.filter((entry) => kinds.includes(entry.kind));
  const having = (part) => all.filter((entry) => words.every((word) => entry[part].includes(word)));
  const named = having("called");
  return named.length ? named : having("words");
}

/** Return what of a board is meant: tasks by name, or else models, or else tasks; null for all of it. */
function hitsOn(board) {
  const everything = { models: null, tasks: null };
  if (!asked.q.trim()) return everything;
  const among = (kinds, names) => found(kinds, asked.q, ENTRIES.filter((entry) => names.includes(entry.name))).map((entry) => entry.name);
  const models = among(["model", "exact"], board.rows.map((row) => row.model));
  const tasks = among(["task"], board.tasks);
  const words = plain(asked.q).split(/\s+/);
  const named = tasks.some((task) => words.every((word) => plain(task).includes(word)));
  if (models.length && !named) return { models: new Set(models), tasks: null };
  return tasks.length ? { models: null, tasks: new Set(tasks) } : everything;
}

/** Show what was found below the search: links to what is here, commands for what is not. */
function showHits() {
  const query = asked.q.trim();
  const groups = query ? GROUPS.map(([title, kinds]) => [title, found(kinds, query)]).filter(([, hits]) => hits.length) : [];
  byId("hits").replaceChildren(
    ...groups.flatMap(([title, hits]) => [
      make("h2", {}, title),
      make("ul", {}, ...byPresence(hits).slice(0, MOST_HITS).map(hit)),
      hits.length > MOST_HITS ? make("p", { class: "quiet" }, `and ${hits.length - MOST_HITS} more`) : null,
    ]).filter(Boolean),
    ...(query && !groups.length ? [make("p", { class: "quiet" }, "Nothing is called that.")] : []),
  );
  byId("hits").hidden = !query;
}

const byPresence = (hits) => [...hits].sort((a, b) => b.here - a.here);

function hit({ kind, name, here, summary }) {
  const shown = here ? link(kind === "task" ? "task" : "model", name) : make("span", {}, name);
  const more = here ? null : make("code", {}, COMMANDS[kind](name));
  return make("li", {}, shown, summary ? make("span", { class: "quiet" }, ` ${summary}`) : null, more);
}

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
    if (event.target.closest("a")) document.activeElement.blur();
  });
}
