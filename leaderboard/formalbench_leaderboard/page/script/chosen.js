// The models whose curves a view shows. A model has one colour, in every view and in the figures.

const MOST = 8; // lines of a chart that are still told apart

const FEW = 4; // ranks; where many models share one, models spread over the ranking differ more

/** Return the colour of a row's model; in the dark it is lighter. */
const colourOf = ({ colour, dark }) => `light-dark(${colour}, ${dark})`;

/** Return the rows of a board that have a curve on some of these tasks. */
const drawnRows = (board, tasks) => board.rows.filter((row) => tasks.some((task) => curveOf(own(row.results, task))));

/** Return the tasks of a board on which some model has a curve. */
const drawnTasks = (board) => tasksOf(board).filter((task) => drawnRows(board, [task]).length);

/** Return the models to begin with: some that were tested on every task, then the first of each rank, as they differ most. */
function firstChoice(board, tasks) {
  const found = new Set();
  const rows = drawnRows(board, tasks);
  let open = tasks.filter((task) => drawnRows(board, [task]).length);
  while (open.length && found.size < MOST) {
    const covers = (row) => open.filter((task) => curveOf(own(row.results, task))).length;
    const best = rows.reduce((one, other) => (covers(other) > covers(one) ? other : one));
    found.add(best.model);
    open = open.filter((task) => !curveOf(own(best.results, task)));
  }
  let firsts = rows.filter((row, index) => index === 0 || row.rank !== rows[index - 1].rank);
  if (firsts.length < FEW) firsts = [...Array(FEW).keys()].map((n) => rows[Math.round((n * (rows.length - 1)) / (FEW - 1))]);
  for (const row of firsts) if (row && found.size < 6) found.add(row.model);
  return found;
}

/** Return check boxes for the models of some rows; `changed` is called after each choice. */
function chooser(rows, choice, changed) {
  const boxes = rows.map((row) => {
    const box = make("input", { type: "checkbox", value: row.model });
    box.addEventListener("change", () => {
      if (box.checked) choice.add(row.model);
      else choice.delete(row.model);
      refresh();
      changed();
    });
    return box;
  });
  const note = make("span", { class: "quiet", "aria-live": "polite" });
  const refresh = () => {
    boxes.forEach((box, index) => {
      box.checked = choice.has(box.value);
      box.disabled = !box.checked && choice.size >= MOST;
      box.parentNode?.style.setProperty("--colour", box.checked ? colourOf(rows[index]) : "transparent");
    });
    note.textContent = choice.size >= MOST ? `${MOST} at a time: take one out to choose another.` : "";
  };
  const labels = boxes.map((box) => make("label", { class: "chip" }, box, make("span", {}, box.value)));
  const set = make("fieldset", {}, make("legend", {}, "Models"), ...labels, note);
  refresh();
  return set;
}
