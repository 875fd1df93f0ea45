// What the reader asked for is in the address: a link shows the same, and Back takes a step back.

const asked = { q: "", show: "", kind: "", class: "", protocol: "", sort: "" };

/** Read the address; what it does not say is as a fresh page has it. */
function readAddress() {
  const said = new URLSearchParams(location.search);
  for (const key of Object.keys(asked)) asked[key] = said.get(key) ?? "";
}

/** Ask for something else; `step` is whether Back takes it back by itself. */
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
