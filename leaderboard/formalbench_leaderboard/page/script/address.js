// The state of the board is in the address: a link shows the same, and Back takes a step back.

const asked = { q: "", show: "", kind: "", class: "", protocol: "", sort: "", hide: "" };

/** Read the address; a value that it lacks is the default. */
function readAddress() {
  const said = new URLSearchParams(location.search);
  for (const key of Object.keys(asked)) asked[key] = said.get(key) ?? "";
}

/** Change the state; with `step`, Back undoes the change. */
function ask(changes, step = true) {
  Object.assign(asked, changes);
  const compared = /[?&](m=[^&]+)/.exec(location.search)?.[1];
  const said = Object.entries(asked).filter(([, value]) => value);
  const query = [compared, ...said.map(([key, value]) => `${key}=${encodeURIComponent(value)}`)].filter(Boolean).join("&");
  const place = `${location.pathname}${query && `?${query}`}${location.hash}`;
  if (step) history.pushState(null, "", place);
  else history.replaceState(null, "", place);
  showAsked();
}
