"""Chiang & Cholak (2022), Figure 4: learning FIRST with attention scaled by log n."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from formalbench.contracts.config import Value
from formalbench.contracts.record import Curve
from formalbench.documents.charts import BLUES
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import percent, plural

from formalbench_papers.chiang_cholak import SOURCE
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import (
    Answer,
    Claim,
    Findings,
    Row,
    across,
    at_least,
    at_most,
    below,
    every,
    higher,
    learned_reach,
    rises,
)
from formalbench_papers.framework.runs import Got, Wanted, records_of
from formalbench_papers.framework.scores import Score
from formalbench_papers.index import experiment

LENGTHS = (10, 30, 100, 300)
"""Of the strings trained on; `TEST` of those tested."""

TEST = 1000

EPOCH = 100
"""Updates."""

STANDARD, SCALED = "standard", "scaled by log n"

FIRST, PARITY = "first", "parity"

PROBE = "attention-on-first."

Key = tuple[str, str, int]
"""A task, an attention, a training length."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over the runs of one panel's curve, one entry per epoch that was looked at.

    Attributes:
        epoch: which.
        runs: how many there are.
        bits: cross-entropy.
        accuracy: a share of one.
        attention: on position 1, of each layer, summed over its heads.
        lowest, highest: accuracy of the worst and the best run.
    """

    epoch: tuple[int, ...]
    runs: int
    bits: tuple[float, ...]
    accuracy: tuple[float, ...]
    attention: tuple[tuple[float, ...], ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]

    @property
    def total(self) -> tuple[float, ...]:
        """Attention on position 1 of all layers."""
        return tuple(map(sum, zip(*self.attention, strict=True)))


Means = dict[Key, Mean]


def mean_of(got: Got) -> Mean | None:
    """Return the mean of the runs that finished; None if there is none."""
    histories = [
        run.training.history
        for run in got.chosen
        if run.status == "finished" and run.training and run.training.history
    ]
    if not histories:
        return None
    curves = [history.curves[0] for history in histories]
    accuracies = [[correct / curve.strings for correct in curve.correct] for curve in curves]
    return Mean(
        epoch=tuple(step // EPOCH for step in histories[0].steps),
        runs=len(curves),
        bits=_mean([[bits / 1000 for bits in curve.millibits] for curve in curves]),
        accuracy=_mean(accuracies),
        attention=tuple(map(_mean, zip(*map(_by_layer, curves), strict=True))),
        lowest=tuple(map(min, zip(*accuracies, strict=True))),
        highest=tuple(map(max, zip(*accuracies, strict=True))),
    )


def curves_of(got: Got) -> list[Mean]:
    """Return the curve of each run that finished, by seed."""
    every = (mean_of(Got(got.wanted, [run])) for run in got.chosen)
    return [one for one in every if one is not None]


def _mean(runs: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(map(fmean, zip(*runs, strict=True)))


def _by_layer(curve: Curve) -> list[list[float]]:
    """Return the attention on position 1 by layer and time, summed over heads."""
    layers: dict[str, list[Sequence[float]]] = {}
    for name, values in curve.probes.items():
        if name.startswith(PROBE):
            layers.setdefault(name.removeprefix(PROBE).partition(".head.")[0], []).append(values)
    return [[sum(values) for values in zip(*heads, strict=True)] for heads in layers.values()]


GUESSING, PERFECT = 0.6, 0.99
"""Up to the first, an accuracy is hardly better than guessing; from the second on it is perfect."""

HALF_WAY = 0.75
"""Less is not learned, even if it is better than guessing."""

BITS = 0.05
"""Cross-entropy up to which it counts as perfect, as it does in the paper's figure."""

SETTLED = 0.1
"""Attention is on its plateau from where on it stays this near to its last value, as a share."""


def claims(got: Mapping[Key, Got]) -> list[Claim]:
    """Check the paper's claims about its figure.

    What is claimed of longer strings is asked of the runs that learned their training length.
    """
    first = {key: one for key, one in got.items() if key[0] == FIRST}
    learned = {key: runs for key, one in first.items() if (runs := one.learned) is not None}
    standard, scaled = (
        {n: learned.get((FIRST, kind, n)) for n in LENGTHS if (FIRST, kind, n) in first}
        for kind in (STANDARD, SCALED)
    )
    curves = {key: curves_of(one) for key, one in learned.items()}
    missing = {key: one.missing for key, one in learned.items()}
    tests = {n: Score.of_test(one) for n, one in standard.items() if one is not None}
    unlearned: Answer = "cannot tell" if standard else None
    return [
        Claim(
            f"FIRST is much easier to learn than PARITY: at its training length standard attention "
            f"reaches {percent(PERFECT, 0)} %, from every length",
            "“FIRST is much easier to learn” (§4.1)",
            _each(_trained(first, STANDARD)),
            every(at_least(score, PERFECT) for score in _trained(first, STANDARD).values()),
        ),
        Claim(
            f"Standard attention, trained at length 10, fails at {TEST}: at most "
            f"{percent(GUESSING, 0)} %",
            "“hardly better than random guessing” (§4.1)",
            _each({n: score for n, score in tests.items() if n == LENGTHS[0]}),
            at_most(tests[LENGTHS[0]], GUESSING) if LENGTHS[0] in tests else unlearned,
        ),
        Claim(
            f"Standard attention is not perfect at {TEST} from any of the training lengths",
            "“the accuracy is not perfect” (§4.1; Figure 4, left)",
            _each(tests),
            every(below(score, PERFECT) for score in tests.values()) if tests else unlearned,
        ),
        Claim(
            f"With standard attention, the longer the strings trained on, the better at {TEST}",
            "Figure 4, left",
            _each(tests),
            every(rises(a, b) for a, b in pairwise(tests.values())) if tests else unlearned,
        ),
        *_scaled_is_perfect(first),
        _less_bits(curves, {n for n in standard if n in scaled}, missing),
        _attention_grows(curves),
        *_attention_by_length(curves, missing),
        *_parity(got),
    ]


def _trained(got: Mapping[Key, Got], kind: str) -> dict[int, Score]:
    """Return how the last weights do at the training length, by that."""
    return {key[2]: Score.of_validation(one) for key, one in got.items() if key[1] == kind}


def _each(scores: Mapping[int, Score]) -> str:
    return "; ".join(f"{length}: {score.text}" for length, score in sorted(scores.items()))


def _scaled_is_perfect(first: Mapping[Key, Got]) -> list[Claim]:
    scaled = {key[2]: one for key, one in first.items() if key[1] == SCALED}
    scores = {n: Score.of_test(one) for n, one in scaled.items()}
    judged = {n: runs for n, one in scaled.items() if (runs := one.learned) is not None}
    learned = {n: Score.of_test(one) for n, one in judged.items()}
    bits, learned_bits = (
        {
            n: [run.test.cells.bits for run in one.chosen if run.test is not None]
            for n, one in some.items()
        }
        for some in (scaled, judged)
    )
    paper = "“perfect test cross-entropy and accuracy” (§4.4; Figure 4, right)"
    return [
        Claim(
            f"Attention scaled by log n reaches {percent(PERFECT, 0)} % at {TEST} on average from "
            "every training length",
            paper,
            _each(scores),
            every(learned_reach(score, learned.get(n), PERFECT) for n, score in scores.items()),
        ),
        Claim(
            f"Its cross-entropy at {TEST} is perfect, too: at most {BITS} bits, in every run",
            paper,
            "; ".join(
                f"{n}: {min(runs):.3f} to {max(runs):.3f} bits, {plural(len(runs), 'run')}"
                for n, runs in bits.items()
                if runs
            ),
            every(_perfect(runs, learned_bits.get(n, ())) for n, runs in bits.items() if runs),
        ),
    ]


def _perfect(runs: Sequence[float], learned: Sequence[float]) -> Answer:
    """Return whether the bits of every run are perfect; runs that did not learn do not say no."""
    perfect = across(bits <= BITS for bits in runs)
    refuted = across(bits <= BITS for bits in learned) is False
    return perfect if refuted or perfect is not False else "cannot tell"


Curves = Mapping[Key, Sequence[Mean]]
"""Of each run that learned its training length."""

Missing = Mapping[Key, int]
"""The number of planned seeds that have not been run."""


def _less_bits(curves: Curves, lengths: Collection[int], missing: Missing) -> Claim:
    last = {
        (kind, n): [one.bits[-1] for one in curves.get((FIRST, kind, n), ())]
        for kind in (STANDARD, SCALED)
        for n in lengths
    }
    pairs = [(n, last[STANDARD, n], last[SCALED, n]) for n in sorted(lengths)]
    return Claim(
        "Attention scaled by log n has the lower cross-entropy (bits) from every training length",
        "Figure 4, top",
        "; ".join(
            f"{n}: {fmean(ours):.3f}, standard {fmean(theirs):.3f}"
            for n, theirs, ours in pairs
            if ours and theirs
        ),
        every(
            higher(
                theirs,
                ours,
                missing=missing[FIRST, STANDARD, n] + missing[FIRST, SCALED, n],
            )
            if ours and theirs
            else "cannot tell"
            for n, theirs, ours in pairs
        ),
    )


def _attention_grows(curves: Curves) -> Claim:
    def at_first(curve: Mean) -> bool:
        top = curve.total.index(max(curve.total))
        better = curve.bits[top] < curve.bits[0] and curve.accuracy[top] > curve.accuracy[0]
        return top > 0 and better

    return Claim(
        f"The attention on position 1, of both layers together, grows in training (at {TEST}), "
        "and until it is at its height cross-entropy falls and accuracy rises, in every run",
        "“attention weight increases on position 1, and test cross-entropy decreases while test "
        "accuracy increases” (§4.2; Figure 4)",
        "; ".join(
            f"{kind}, {n}: {fmean(one.total[0] for one in runs):.3f} → "
            f"{fmean(max(one.total) for one in runs):.3f}, "
            f"{sum(map(at_first, runs))} of {plural(len(runs), 'run')}"
            for (_, kind, n), runs in curves.items()
        ),
        across(at_first(one) for runs in curves.values() for one in runs),
    )


def _attention_by_length(curves: Curves, missing: Missing) -> list[Claim]:
    runs = {n: curves.get((FIRST, STANDARD, n), ()) for n in LENGTHS}
    last = {n: [one.total[-1] for one in some] for n, some in runs.items() if some}
    settled = {n: [_settled(one) for one in some] for n, some in runs.items() if some}
    paper = (
        "“the lower the training length n is, the earlier and lower the attention weight plateaus” "
        "(§4.2; Figure 4, bottom left)"
    )
    said = {
        "With standard attention, the shorter the strings trained on, the less attention there is "
        "on position 1 in the end": last,
        "With standard attention, the shorter the strings trained on, the earlier the attention on "
        f"position 1 plateaus: from that epoch on it stays within {SETTLED:.0%} of its last "
        "value": settled,
    }
    return [
        Claim(
            text,
            paper,
            "; ".join(f"{n}: {fmean(some):.3g}" for n, some in values.items()),
            every(
                higher(
                    values[b],
                    values[a],
                    missing=missing[FIRST, STANDARD, a] + missing[FIRST, STANDARD, b],
                )
                for a, b in pairwise(values)
            ),
        )
        for text, values in said.items()
    ]


def _settled(curve: Mean) -> float:
    """Return the epoch from which on attention stays near its last value."""
    last = curve.total[-1]
    far = [i for i, one in enumerate(curve.total) if abs(one - last) > SETTLED * last]
    return float(curve.epoch[max(far) + 1] if far else curve.epoch[0])


def _parity(got: Mapping[Key, Got]) -> list[Claim]:
    paper = "“unable to get a transformer to learn to recognize PARITY” (§4.1)"
    same = (
        "The same transformer, with the heads and position code of PARITY's exact solution, does "
        "not learn PARITY"
    )
    runs = {(kind, n): one for (task, kind, n), one in got.items() if task == PARITY}
    further = {key: Score.of_test(one) for key, one in runs.items()}
    near = {key: Score.of_validation(one) for key, one in runs.items()}
    return [
        Claim(
            f"{same}: at most {percent(GUESSING, 0)} % at {TEST}",
            paper,
            _by_kind(further),
            every(at_most(score, GUESSING) for score in further.values()),
        ),
        Claim(
            f"{same}, at the training length: less than {percent(HALF_WAY, 0)} %, halfway between "
            "chance and 100 % (there are only 1,024 strings of length 10, so some can be "
            "memorised)",
            paper,
            _by_kind(near),
            every(below(score, HALF_WAY) for score in near.values()),
        ),
    ]


def _by_kind(scores: Mapping[tuple[str, int], Score]) -> str:
    return "; ".join(f"{kind}, {n}: {score.text}" for (kind, n), score in scores.items())


PROTOCOL = "chiang-cholak-fig4-{}"
"""By training length; the scale quick has the first of its runs."""

QUICK_SEEDS = 5

PARITY_QUICK = (10, 100)

MODEL = "transformer-chiang-cholak-{}"
"""By task: layers, heads and position code are those of its exact solution."""

OPTIONS: dict[str, dict[str, Value]] = {STANDARD: {}, SCALED: {"log_length": True}}


@experiment(
    "chiang-cholak-fig4",
    "Training transformers on FIRST, with standard attention and with log-length scaling",
    f"{SOURCE}, Figure 4, §4.1 and §4.4",
    about="Transformers of two layers and width 16 are trained on strings of one length n (see "
    "the legend) and tested on strings of length 1000, after every epoch of 100 strings: "
    "cross-entropy, accuracy, and the total weight that CLS gives to position 1 in both "
    "layers, mean of the runs. Left: standard attention. Right: logits scaled by log n.",
    reduced="5 runs instead of 20; PARITY with standard attention and training lengths 10 and 100 "
    "only. All 10,000 updates are done.",
    core_hours=(0.4, 2.0),
)
def carry_out(bench: Bench) -> Findings:
    """Train every model at every length, and read their curves."""
    keys: list[Key] = [(FIRST, kind, n) for n in LENGTHS for kind in (SCALED, STANDARD)]
    keys += [(PARITY, kind, n) for n in LENGTHS for kind in OPTIONS]
    wanted = {
        (task, kind, length): Wanted(
            f"{task.upper()}, trained at {length}",
            kind,
            MODEL.format(task),
            task,
            PROTOCOL.format(length),
            OPTIONS[kind],
            seeds=bench.choose(QUICK_SEEDS, None),
        )
        for task, kind, length in keys
    }
    return findings(bench.train_each(wanted, lambda key: bench.choose(_quick(key), True)))


def _quick(key: Key) -> bool:
    """Return whether a curve belongs to the scale quick."""
    task, kind, length = key
    return task == FIRST or (kind == STANDARD and length in PARITY_QUICK)


def findings(got: Mapping[Key, Got]) -> Findings:
    """Make the curves and check the claims."""
    means = {key: mean for key, one in got.items() if (mean := mean_of(one)) is not None}
    rows = [row for key, mean in means.items() for row in _rows(key, mean)]
    every = records_of(got.values())
    return Findings(rows, claims(got), lambda: _draw(means), _REMARKS, records=every)


def _rows(key: Key, mean: Mean) -> list[Row]:
    task, kind, length = key
    return [
        {
            "task": task,
            "attention": kind,
            "train_length": length,
            "test_length": TEST,
            "epoch": epoch,
            "runs": mean.runs,
            "cross_entropy_bits": mean.bits[i],
            "accuracy": mean.accuracy[i],
            "accuracy_lowest": mean.lowest[i],
            "accuracy_highest": mean.highest[i],
            "attention_on_1": mean.total[i],
            "attention_on_1_layer_1": mean.attention[0][i],
            "attention_on_1_layer_2": mean.attention[1][i],
        }
        for i, epoch in enumerate(mean.epoch)
    ]


_REMARKS = (
    "The paper plots curves and prints no numbers. Claims about accuracy are judged by the final "
    "weights on 1,000 held-out strings. The curves use 100 strings, the same after every epoch, "
    "half of them beginning with 1; the paper draws new ones each time.",
    "Figure 4's caption says “strings of varying length”. The authors' code trains on one fixed "
    "length; so does this.",
    "FIRST has the fixed position code I[i = 1] of the authors' code, in a separate dimension, "
    "added to learned symbol embeddings. CLS is the first symbol, and the answer is read there.",
    "PARITY has the codes i/n and cos iπ in a dimension each, with one learned scale each. The "
    "authors' code has eight copies of each, with scales inside the cosine, and reads CLS at the "
    "end.",
    "Initial weights are those of PyTorch's TransformerEncoder, as in the authors' code: Xavier in "
    "attention, and both layers start as copies of each other. With independent layers, one of "
    "five runs with attention scaled by log n was still at 50 % at its training length, 300, after "
    "all updates. Two logits and a softmax replace the paper's one logit and sigmoid.",
    "Scaling multiplies the logits by ln n, n counting CLS; the authors' code multiplies the input "
    "of the query projection, which leaves the projection's bias unscaled.",
    "Every update is on one string, at a learning rate of 0.0003, without clipping or decay; no "
    "checkpoint is selected.",
)

_COLORS = dict(zip(LENGTHS, BLUES, strict=True))

_PANELS = (
    ("bits", "test cross-entropy (bits)"),
    ("accuracy", "test accuracy"),
    ("total", "attention on position 1"),
)


def _draw(means: Mapping[Key, Mean]) -> Figure:
    """Draw cross-entropy, accuracy, attention; standard on the left, scaled right."""

    def panel(kind: str, what: str, label: str) -> Panel:
        lines = [
            Series(mean.epoch, getattr(mean, what), _COLORS[n], f"n = {n}")
            for n in LENGTHS
            if (mean := means.get((FIRST, kind, n))) is not None
        ]
        return Panel(
            lines,
            title=f"{kind[0].upper()}{kind[1:]}",
            x="epoch",
            y=label,
            level={"bits": 1.0, "accuracy": 0.5}.get(what),
            xlim=(0, None),
            ylim=(0.45, 1.02) if what == "accuracy" else (0, None),
        )

    return Figure([[panel(kind, *one) for kind in OPTIONS] for one in _PANELS])
