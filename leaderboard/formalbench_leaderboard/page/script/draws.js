// Differences of two models: the method of formalbench/statistics/intervals.py with other random numbers.
// With 4,000 samples the ends of intervals differ a little from Python's.

const DRAWS = 4000;
const UNSEEN = 1.25; // the weight of the unseen seed; the others have weight 1
const QUANTILES = 60;
const TAIL = 0.025;

/** Return uniform random numbers above 0 and below 1, the same ones for the same key. */
function stream(...key) {
  let state = 2166136261;
  for (const sign of key.join("\u0000")) state = Math.imul(state ^ sign.codePointAt(0), 16777619);
  // Mulberry32 by T. Ettinger, public domain: enough for a few thousand draws.
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

const drawnWith = (value) => Float64Array.from({ length: DRAWS }, value);

const weightsKept = new Map();

/** Return the weight of one seed of a task in each draw: exponential, the same for every model. */
function seedWeights(...key) {
  const name = key.join("\u0000");
  if (!weightsKept.has(name)) {
    const next = stream("weight", ...key);
    weightsKept.set(name, drawnWith(() => -Math.log(next())));
  }
  return weightsKept.get(name);
}

/**
 * Return what is known of a row on a task: { task, values, strings, chance, trained }.
 *
 * A run that did not finish counts as chance, and is known exactly. With `scaled` chance is 0.
 */
function sampleOf(row, result, facts, scaled = false) {
  const chance = facts.chance_length < 1 ? facts.chance_length : 0;
  const unit = (share) => (scaled ? (share - chance) / (1 - chance) : share);
  const known = result.runs.map((run) => run.accuracy ?? facts.chance_length);
  const noise = result.runs.map((run) => (run.accuracy == null ? Array(QUANTILES).fill(0) : posterior(run.accuracy, result.strings)));
  const strings = noise[0].map((_, level) => noise.reduce((sum, one) => sum + one[level], 0) / noise.length);
  return {
    task: facts.title,
    values: known.map(unit),
    strings: strings.map((off) => (scaled ? off / (1 - chance) : off)),
    chance: unit(chance),
    least: unit(0),
    trained: row.kind === "learned",
  };
}

/** Draw the mean over tasks of the mean over seeds. */
function meanDraws(samples, key) {
  const total = new Float64Array(DRAWS);
  const trained = samples.filter((sample) => sample.trained);
  if (trained.length) trainedDraws(trained, key).forEach((value, draw) => (total[draw] = value * trained.length));
  for (const sample of samples) {
    const next = stream("strings", ...key, sample.task);
    const mean = sample.trained ? 0 : average(sample.values);
    for (let draw = 0; draw < DRAWS; draw++) total[draw] += mean + sample.strings[Math.floor(next() * QUANTILES)];
  }
  const least = average(samples.map((sample) => sample.least));
  return total.map((value) => Math.min(1, Math.max(least, value / samples.length)));
}

function trainedDraws(samples, key) {
  const known = samples.length ** 2 / samples.reduce((sum, { values }) => sum + 1 / values.length, 0);
  const mean = average(samples.map(({ values }) => average(values)));
  const chance = average(samples.map((sample) => sample.chance));
  const lowest = Math.min(chance, ...samples.flatMap(({ values }) => values));
  const factor = spread(known);
  const least = chance - factor * (chance - lowest);
  const [unseen, fails] = [seedWeights("unseen"), stream("fails", ...key)];
  const sums = new Float64Array(DRAWS);
  const weights = new Float64Array(DRAWS);
  for (const { task, values } of samples)
    values.forEach((value, seed) => {
      const weight = seedWeights("seed", task, seed);
      for (let draw = 0; draw < DRAWS; draw++) {
        sums[draw] += (value * weight[draw]) / values.length;
        weights[draw] += weight[draw] / values.length;
      }
    });
  return drawnWith((_, draw) => {
    const seen = Math.min(1, Math.max(least, mean + factor * (sums[draw] / weights[draw] - mean)));
    const share = (UNSEEN * unseen[draw]) / ((weights[draw] * known) / samples.length + UNSEEN * unseen[draw]);
    return seen + share * ((fails() < 0.5 ? lowest : 1) - seen);
  });
}

/** Return the factor by which seeds are moved away from their mean; Python computed it. */
function spread(seeds) {
  const table = DATA.details.spread;
  const below = Math.min(Math.floor(seeds), table.length);
  const next = Math.min(below + 1, table.length);
  return table[below - 1] + (seeds - below) * (table[next - 1] - table[below - 1]);
}

const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Return a difference with the 95 % interval of its draws: { value, low, high }. */
function differenceOf(value, draws) {
  const sorted = Float64Array.from(draws).sort();
  return { value, low: Math.min(value, quantile(sorted, TAIL)), high: Math.max(value, quantile(sorted, 1 - TAIL)) };
}

function quantile(sorted, level) {
  const place = level * (sorted.length - 1);
  const below = Math.floor(place);
  return sorted[below] + (place - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

const posteriorsKept = new Map();

/** Return by how much an accuracy may be off for want of strings: quantiles of its Jeffreys posterior. */
function posterior(accuracy, strings) {
  const name = `${accuracy} ${strings}`;
  if (!posteriorsKept.has(name)) {
    const [a, b] = [accuracy * strings + 0.5, (1 - accuracy) * strings + 0.5];
    const levels = [...Array(QUANTILES).keys()].map((level) => (level + 0.5) / QUANTILES);
    posteriorsKept.set(name, levels.map((level) => betaQuantile(level, a, b) - accuracy));
  }
  return posteriorsKept.get(name);
}

function betaQuantile(level, a, b) {
  let [low, high] = [0, 1];
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (betaBelow(middle, a, b) < level) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Return the regularised incomplete beta function, by its continued fraction (NIST DLMF 8.17.22). */
function betaBelow(x, a, b) {
  if (x > (a + 1) / (a + b + 2)) return 1 - betaBelow(1 - x, b, a);
  if (x <= 0) return 0;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  const tiny = 1e-300;
  let [fraction, c, d] = [1, 1, 0];
  for (let n = 0; n < 5000; n++) {
    const m = n >> 1;
    const term = n === 0 ? 1 : n % 2 ? (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)) : (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + term * d || tiny);
    c = 1 + term / c || tiny;
    fraction *= c * d;
    if (n && Math.abs(c * d - 1) < 1e-12) break;
  }
  return front * (fraction - 1);
}

/** Return the logarithm of the gamma function, by Stirling's series beyond 10. */
function logGamma(x) {
  let below = 0;
  for (; x < 10; x++) below += Math.log(x);
  return (x - 0.5) * Math.log(x) - x + 0.9189385332046727 + 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5) - below;
}
