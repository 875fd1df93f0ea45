// The models whose curves are shown, each with a colour that it keeps while it is chosen.

const MOST = 8;
const chosen = new Map(); // model -> which of the colours 0 … MOST-1

const colourOf = (model) => `var(--line-${chosen.get(model)})`;

function choose(model, wanted) {
  if (!wanted) chosen.delete(model);
  else if (chosen.size < MOST && !chosen.has(model)) {
    const taken = new Set(chosen.values());
    chosen.set(model, [...Array(MOST).keys()].find((colour) => !taken.has(colour)));
  }
}

const FEW = 4; // ranks; where many models share one, models spread over the ranking differ more

/** Begin with the first model of each rank: they differ most. */
function chooseFirst(board) {
  chosen.clear();
  const { rows } = board;
  let firsts = rows.filter((row, index) => index === 0 || row.rank !== rows[index - 1].rank);
  if (firsts.length < FEW)
    firsts = [...Array(FEW).keys()].map((n) => rows[Math.round((n * (rows.length - 1)) / (FEW - 1))]);
  for (const row of firsts.slice(0, 6)) if (row) choose(row.model, true);
}

/** Return check boxes for the models of a board; `changed` is called after each choice. */
function chooser(board, changed) {
  const boxes = board.rows.map((row) => {
    const box = make("input", { type: "checkbox", value: row.model });
    box.addEventListener("change", () => {
      choose(row.model, box.checked);
      refresh();
      changed();
    });
    return box;
  });
  const note = make("span", { class: "quiet", "aria-live": "polite" });
  const refresh = () => {
    for (const box of boxes) {
      box.checked = chosen.has(box.value);
      box.disabled = !box.checked && chosen.size >= MOST;
      box.parentNode?.style.setProperty("--colour", box.checked ? colourOf(box.value) : "transparent");
    }
    note.textContent = chosen.size >= MOST ? `${MOST} at a time: take one out to choose another.` : "";
  };
  const labels = boxes.map((box) => make("label", { class: "chip" }, box, make("span", {}, box.value)));
  const set = make("fieldset", {}, make("legend", {}, "Models"), ...labels, note);
  refresh();
  return set;
}
