// Tables that the views of a model and of a task share.

/** Return a table that can be sorted: heads [{ text, left, ascending }], rows of { text, sort }. */
function table(caption, heads, rows) {
  const head = heads.map(({ text, left, ascending }) =>
    make(
      "th",
      { scope: "col", class: left ? "left" : null, "data-first": ascending ? "ascending" : null },
      make("button", { type: "button" }, text),
    ),
  );
  const body = rows.map((row) =>
    make(
      "tr",
      {},
      ...row.map(({ text, sort, left, shade, grey, wrap }, index) =>
        make(
          index ? "td" : "th",
          {
            scope: index ? null : "row",
            class: [left && "left", shade != null && "cell", grey && "unlearned", wrap && "wrap"].filter(Boolean).join(" ") || null,
            "data-sort": sort === undefined ? null : (sort ?? ""),
            style: shade == null ? null : `--share:${Math.max(0, shade).toFixed(3)}`,
          },
          ...[text].flat(),
        ),
      ),
    ),
  );
  const made = make(
    "table",
    { class: "sortable n-last results" },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, made);
}

const RESULT_HEADS = [
  { text: "validation" },
  { text: "mean" },
  { text: "95 % interval", left: true },
  { text: "scaled" },
  { text: "best" },
  { text: "median" },
  { text: "≥ 99 % to" },
  { text: "≥ 90 % to" },
  { text: "each seed", left: true },
  { text: "rate" },
  { text: "time a seed" },
];

/** Return the cells of a result; of texts nothing that is said of accuracies. */
function resultCells(result, facts) {
  const seconds = result.runs.map((run) => run.seconds).filter((value) => value != null);
  const time = seconds.length ? seconds.reduce((a, b) => a + b, 0) / seconds.length : null;
  const share = (value) => ({ text: percent(value), sort: value });
  if (isText(facts)) {
    const none = { text: MISSING, sort: null };
    const ended = { text: seedLinks(result, (run) => run.status), left: true };
    const rate = { text: `${result.learning_rate ?? MISSING}`, sort: result.learning_rate };
    return [none, { text: result.shown, sort: result.value }, { ...none, left: true }, none, none, none, none, none, ended, rate, { text: duration(time), sort: time }];
  }
  return [
    { text: validationText(result), sort: result.validation },
    { ...share(result.mean), ...told(result), shade: unlearned(result) ? 0 : (result.scaled ?? 0) },
    { text: interval(result.low, result.high), sort: result.low, left: true },
    share(result.scaled),
    share(result.max),
    share(result.median),
    { text: `${result.longest_99 ?? MISSING}`, sort: result.longest_99 },
    { text: `${result.longest_90 ?? MISSING}`, sort: result.longest_90 },
    { text: seedLinks(result, seedText), sort: Math.min(...result.runs.map((run) => run.accuracy ?? -1)), left: true },
    { text: result.learning_rate == null ? MISSING : `${result.learning_rate}`, sort: result.learning_rate },
    { text: duration(time), sort: time },
  ];
}

/** Return the columns of the metrics that plugins add to any of some results: heads, and a result's cells. */
function metricColumns(results) {
  const names = [...new Set(results.flatMap((result) => Object.keys(result.metrics ?? {})))];
  const cell = (value) => (value == null ? { text: MISSING, sort: null } : { text: `${Number(value.toPrecision(4))}`, sort: value });
  return {
    heads: names.map((text) => ({ text })),
    cells: (result) => names.map((name) => cell(own(result.metrics ?? {}, name))),
  };
}

/** Return the mean with what answers tell of targets, where that is known: accuracy below chance can tell all. */
const told = (result) => (result.information == null ? {} : { text: `${percent(result.mean)} (${result.information.toFixed(2)} bits)` });

/** Say whether no seed learned the training lengths: the test says nothing of extrapolation. */
const unlearned = (result) => result.learned === 0 && result.finished > 0;

/** Say whether some seed learned the training lengths and finished its test. */
const reaches = (result) => result.runs.some((run) => run.learned && run.accuracy != null);

/** Say whether some seeds learned the training lengths, and others that finished did not. */
const partly = (result) => result.learned > 0 && result.runs.some((run) => run.accuracy != null && !run.learned);

function validationText(result) {
  const capped = result.capped ? `, ${result.capped} capped` : "";
  const within = `in ${result.tried.toLocaleString("en")} steps${capped}`;
  if (unlearned(result)) return `${percent(result.validation)} (not learned ${within})`;
  if (partly(result)) return `${percent(result.validation)} (${result.learned} of ${result.seeds} seeds learned, the others not ${within})`;
  return percent(result.validation);
}

const seedText = (run) => (run.accuracy == null ? run.status : percent(run.accuracy));

/** Return terms and what they mean, without those that nothing is known of. */
function termList(pairs) {
  const known = pairs.filter(([, value]) => value != null && value !== "");
  return make("dl", { class: "facts" }, ...known.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value))));
}
