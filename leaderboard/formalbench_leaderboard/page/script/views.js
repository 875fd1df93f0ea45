// Which view is shown: the address says so, so that Back works and a link can be sent.
//
//   #task=parity   #model=lstm   #compare=lstm,gru   ?m=lstm,gru (the same as #compare)
//
// A view is a function of the names behind the sign; it returns what the page shows (elements, null
// for nothing), the first heading an h1 that can be focused, or null if there is none of that name.

const TITLE = document.title;
let shownPlace = null;

function route(moved) {
  const { kind, names } = viewAsked();
  const place = JSON.stringify([kind, names, kind ? "" : location.hash]);
  if (place === shownPlace) return; // what else the address says is the board's
  shownPlace = place;
  const parts = kind ? VIEWS[kind](...names) : null;
  const [overview, view] = [byId("overview"), byId("view")];
  overview.hidden = Boolean(kind);
  view.hidden = !kind;
  if (!kind) return backToOverview(moved);
  view.replaceChildren(...(parts ?? notFound(kind, names.join(", "))).filter(Boolean));
  document.title = `${names.join(", ")} · ${TITLE}`;
  if (moved) {
    scrollTo(0, 0);
    view.querySelector("h1").focus({ preventScroll: true });
  }
}

/** Return which view the address asks for, and of what. */
function viewAsked() {
  const [, kind, text] = /^#(\w+)=(.*)$/s.exec(location.hash) ?? [];
  if (kind && Object.hasOwn(VIEWS, kind)) return { kind, names: namesIn(text) };
  const compared = /[?&]m=([^&]+)/.exec(location.search);
  if (compared && !location.hash && VIEWS.compare) return { kind: "compare", names: namesIn(compared[1]) };
  return { kind: null, names: [] };
}

/** Split at commas; those inside a name are escaped, or stand in its brackets. */
const namesIn = (text) => text.split(/,(?![^[]*\])/).map(decoded);

function backToOverview(moved) {
  document.title = TITLE;
  byId("view").replaceChildren();
  if (moved && location.hash) byId(location.hash.slice(1))?.scrollIntoView();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Offer the comparison of two models on the first screen. */
function startComparison() {
  const [a, b] = DATA.boards[0]?.rows ?? [];
  if (b) byId("comparison").append(compareForm([a.model, b.model]));
}

function notFound(kind, name) {
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board")),
    make("h1", { tabindex: -1 }, name),
    make("p", { class: "lead" }, `There is no ${kind} of this name here.`),
  ];
}

// A large drawing comes packed; without a script the page says how to make it.
for (const place of document.querySelectorAll("[data-packed]")) place.replaceChildren(drawn(await unpacked(place.dataset.packed)));
startTheme();
startSearch();
startControls();
startCells();
startComparison();
readAddress();
showAsked();
route(false);
addEventListener("popstate", () => {
  readAddress();
  showAsked();
  route(true);
});
document.documentElement.dataset.ready = "";
