// Which view is shown: the part of the address after # says so, so that Back works.

const VIEWS = { model: modelView, task: taskView };
const TITLE = document.title;

function route(moved) {
  const [, kind, name] = /^#(model|task)=(.*)$/s.exec(location.hash) ?? [];
  const parts = kind ? VIEWS[kind](decoded(name)) : null;
  const [overview, view] = [byId("overview"), byId("view")];
  overview.hidden = Boolean(kind);
  view.hidden = !kind;
  if (!kind) return backToOverview(moved);
  view.replaceChildren(...(parts ?? notFound(kind, decoded(name))).filter(Boolean));
  document.title = `${decoded(name)} · ${TITLE}`;
  if (moved) {
    scrollTo(0, 0);
    view.querySelector("h1").focus({ preventScroll: true });
  }
}

function backToOverview(moved) {
  document.title = TITLE;
  byId("view").replaceChildren();
  if (byId("chooser").firstChild) {
    byId("chooser").replaceChildren(chooser(shownBoard(), drawCurves));
    drawCurves();
  }
  if (moved && location.hash) byId(location.hash.slice(1))?.scrollIntoView();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function notFound(kind, name) {
  return [
    make("p", { class: "crumb" }, make("a", { href: "#board" }, "The board")),
    make("h1", { tabindex: -1 }, name),
    make("p", { class: "lead" }, `There is no ${kind} of this name here.`),
  ];
}

startTheme();
startSorting();
startControls();
route(false);
addEventListener("hashchange", () => route(true));
