// The state of the board is in the address: a link shows the same, and Back takes a step back.

const asked = { m: "", q: "", show: "", kind: "", class: "", protocol: "", sort: "", hide: "" };

/** Read the address; a value that it lacks is the default. */
function readAddress() {
  const said = new URLSearchParams(location.search);
  for (const key of Object.keys(asked)) asked[key] = said.get(key) ?? "";
}

/** Change the state; with `step`, Back undoes the change. */
function ask(changes, step = true) {
  Object.assign(asked, changes);
  const url = new URL(location);
  url.search = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
  history[step ? "pushState" : "replaceState"](null, "", url);
  showAsked();
}
