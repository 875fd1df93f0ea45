"""Chiang & Cholak (2022), Figure 4: learning FIRST with attention scaled by log n."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    at_most,
    below,
    every,
    higher,
    learned_reach,
    opposite,
    rises,
)
from formalbench_papers.framework.runs import CellPlan, CellRecords, records_of
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


def mean_of(got: CellRecords) -> Mean | None:
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


def curves_of(got: CellRecords) -> list[Mean]:
    """Return the curve of each run that finished, by seed."""
    every = (mean_of(CellRecords(got.plan, [run])) for run in got.chosen)
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
"""Cross-entropy up to which it counts as perfect."""

SETTLED = 0.1
"""Attention is on its plateau from where on it stays this near to its last value, as a share."""

ENOUGH = 3
"""Runs that must have learned a training length; fewer say nothing of what networks learn there."""

ByLength = Mapping[int, CellRecords]
"""The runs of one task and one kind of attention, by training length."""


def claims(got: Mapping[Key, CellRecords]) -> list[Claim]:
    """Check the paper's claims about its figure.

    Curves and cross-entropies are those of all runs, as the paper plots them. What is claimed of
    learned transformers is asked of the runs that learned their training length.
    """
    standard, scaled, parity = (
        {n: got[task, kind, n] for n in LENGTHS if (task, kind, n) in got}
        for task, kind in ((FIRST, STANDARD), (FIRST, SCALED), (PARITY, STANDARD))
    )
    return [
        _easier(standard, parity),
        *_generalize(standard),
        *_scaled_is_perfect(scaled),
        _less_bits(standard, scaled),
        _attention_grows(standard),
        _attention_lower(standard),
        _attention_earlier(standard),
        *_parity(got),
    ]


def _learned(cell: CellRecords) -> CellRecords | None:
    """Return the runs that learned their training length; None if these are not enough."""
    runs = cell.learned
    return runs if runs is not None and len(runs.chosen) >= ENOUGH else None


def _if_learned(cell: CellRecords, answer: Answer) -> Answer:
    """Return an answer on all runs; where too few learned, they do not say no."""
    return "cannot tell" if answer is False and not _learned(cell) else answer


def _counted(cell: CellRecords) -> str:
    learned = len(cell.learned.chosen) if cell.learned else 0
    return f"{learned} of {plural(len(cell.chosen), 'run')} learned"


def _of_learned(cells: ByLength, text: Callable[[CellRecords], str]) -> str:
    """Return a text on the runs that learned each length, and how many these are."""
    learned = {n: _learned(one) for n, one in cells.items()}
    texts = {n: f"{text(runs)}, " if runs else "" for n, runs in learned.items()}
    return "; ".join(f"{n}: {texts[n]}{_counted(one)}" for n, one in cells.items())


def _easier(first: ByLength, parity: ByLength) -> Claim:
    """Compare the two languages at the training lengths that both were trained at."""
    both = {n: (first[n], parity[n]) for n in first if n in parity}
    easy, hard = ([share for pair in both.values() for share in _near(pair[i])] for i in (0, 1))
    means = {n: [percent(fmean(_near(one) or [0.0])) for one in pair] for n, pair in both.items()}
    ours = [f"{n}: {means[n][0]} and {means[n][1]} %" for n in both]
    if easy and hard:
        shown = [f"{percent(fmean(some))} % ({plural(len(some), 'run')})" for some in (easy, hard)]
        ours.append(f"on average {' and '.join(shown)}")
    return Claim(
        "FIRST is easier to learn than PARITY: with standard attention, accuracy at the training "
        "length is higher on average over the runs of all training lengths",
        "“FIRST is much easier to learn” (§4.1), than PARITY",
        "; ".join(ours),
        higher(easy, hard, missing=sum(one.unfinished for pair in both.values() for one in pair)),
    )


def _near(cell: CellRecords) -> list[float]:
    """Return how the last weights of each run do at the training length."""
    return [run.selected.accuracy for run in cell.chosen if run.selected is not None]


def _bits(cell: CellRecords) -> list[float]:
    """Return the cross-entropy of each run on longer strings."""
    return [run.test.cells.bits for run in cell.chosen if run.test is not None]


def _generalize(standard: ByLength) -> list[Claim]:
    tests = {
        n: Score.of_test(runs) for n, one in standard.items() if (runs := _learned(one)) is not None
    }

    def shown(cells: ByLength) -> str:
        return _of_learned(cells, lambda runs: _span(Score.of_test(runs)))

    def judge(lengths: Iterable[int], question: Callable[[Score], Answer]) -> Answer:
        return every(question(tests[n]) if n in tests else "cannot tell" for n in lengths)

    shortest = {n: one for n, one in standard.items() if n == LENGTHS[0]}
    return [
        Claim(
            f"Standard attention that learned length {LENGTHS[0]} fails at {TEST}: at most "
            f"{percent(GUESSING, 0)} %",
            "“for training n = 10, the accuracy is hardly better than random guessing” (§4.1); "
            f"{percent(GUESSING, 0)} % is ours",
            shown(shortest),
            judge(shortest, lambda score: at_most(score, GUESSING)),
        ),
        Claim(
            f"Standard attention that learned its training length is not perfect at {TEST}, from "
            f"any length: less than {percent(PERFECT, 0)} %",
            "“the learned transformers do not generalize well […], the accuracy is not perfect” "
            f"(§4.1); {percent(PERFECT, 0)} % is ours",
            shown(standard),
            judge(standard, lambda score: below(score, PERFECT)),
        ),
        Claim(
            "Standard attention that learned its training length: the longer the strings trained "
            f"on, the better at {TEST}",
            "drawn in Figure 4, left; the text does not say it",
            shown(standard),
            every(
                rises(tests[a], tests[b]) if a in tests and b in tests else "cannot tell"
                for a, b in pairwise(standard)
            ),
        ),
    ]


def _span(score: Score) -> str:
    return f"{percent(score.mean)} % ({score.interval})"


def _scaled_is_perfect(scaled: ByLength) -> list[Claim]:
    scores = {n: Score.of_test(one) for n, one in scaled.items()}
    learned = {n: _learned(one) for n, one in scaled.items()}
    bits = {n: some for n, one in scaled.items() if (some := _bits(one))}
    paper = (
        "“For all training lengths n, the model is able to learn with perfect test cross-entropy "
        "and accuracy” (§4.4); "
    )
    return [
        Claim(
            f"Attention scaled by log n is perfect at {TEST} from every training length, on "
            f"average over the runs: at least {percent(PERFECT, 0)} %",
            f"{paper}{percent(PERFECT, 0)} % is ours",
            "; ".join(f"{n}: {_span(scores[n])}, {_counted(one)}" for n, one in scaled.items()),
            every(
                learned_reach(score, Score.of_test(runs) if (runs := learned[n]) else None, PERFECT)
                for n, score in scores.items()
            ),
        ),
        Claim(
            f"Its cross-entropy at {TEST} is perfect, too, on average over the runs: at most "
            f"{BITS} bits",
            f"{paper}{BITS} bits are ours",
            "; ".join(
                f"{n}: {fmean(runs):.3f} bits ({min(runs):.3f} to {max(runs):.3f}), "
                f"{plural(len(runs), 'run')}"
                for n, runs in bits.items()
            ),
            every(_perfect(scaled[n], learned[n]) for n in bits),
        ),
    ]


def _perfect(cell: CellRecords, learned: CellRecords | None) -> Answer:
    """Return whether mean bits are perfect; runs that did not learn do not say no."""
    perfect = _few_bits(cell)
    refuted = learned is not None and _few_bits(learned) is False
    return perfect if refuted or perfect is not False else "cannot tell"


def _few_bits(cell: CellRecords) -> Answer:
    return opposite(_positive([bits - BITS for bits in _bits(cell)], cell.missing))


def _positive(runs: Sequence[float], missing: int) -> Answer:
    """Return whether a mean is above 0, by its 95 % interval, or every run is."""
    return higher(runs, [0.0] * len(runs), missing=missing)


def _less_bits(standard: ByLength, scaled: ByLength) -> Claim:
    pairs = {n: (standard[n], scaled[n]) for n in standard if n in scaled}
    bits = {n: (_bits(first), _bits(second)) for n, (first, second) in pairs.items()}
    bits = {n: both for n, both in bits.items() if all(both)}
    return Claim(
        "Attention scaled by log n has the lower cross-entropy from every training length, on "
        "average over the runs",
        "drawn in Figure 4, top; the text does not say it",
        "; ".join(
            f"{n}: {fmean(second):.3f} bits ({plural(len(second), 'run')}), standard "
            f"{fmean(first):.3f} ({plural(len(first), 'run')})"
            for n, (first, second) in bits.items()
        ),
        every(
            _if_learned(second, higher(*bits[n], missing=first.missing + second.missing))
            if n in bits
            else "cannot tell"
            for n, (first, second) in pairs.items()
        ),
    )


def _attention_grows(standard: ByLength) -> Claim:
    """Check the first part of the mean curves, until cross-entropy is at its lowest."""
    texts: list[str] = []
    answers: list[Answer] = []
    for n, cell in standard.items():
        mean, runs = mean_of(cell), curves_of(cell)
        if mean is None:
            continue
        low = mean.bits.index(min(mean.bits))
        first, last = mean.epoch[0], mean.epoch[low]
        counted = plural(mean.runs, "run")
        if low == 0:
            texts.append(f"{n}: lowest when first looked at, epoch {first}, {counted}")
            answers.append("cannot tell")
            continue
        texts.append(
            f"{n}: from epoch {first} to {last}, attention {mean.total[0]:.3f} → "
            f"{mean.total[low]:.3f}, {mean.bits[0]:.3f} → {mean.bits[low]:.3f} bits, "
            f"{percent(mean.accuracy[0])} → {percent(mean.accuracy[low])} %, {counted}"
        )
        changes = (
            [one.total[low] - one.total[0] for one in runs],
            [one.bits[0] - one.bits[low] for one in runs],
            [one.accuracy[low] - one.accuracy[0] for one in runs],
        )
        answers.append(_if_learned(cell, every(_positive(one, cell.missing) for one in changes)))
    return Claim(
        f"With standard attention, until the mean cross-entropy at {TEST} is at its lowest, "
        "attention on position 1 grows, cross-entropy falls and accuracy rises, from every "
        "training length, on average over the runs",
        "“Initially, attention weight increases on position 1, and test cross-entropy decreases "
        "while test accuracy increases” (§4.2; Figure 4, bottom left)",
        "; ".join(texts),
        every(answers),
    )


PLATEAUS = (
    "“the lower the training length n is, the earlier and lower the attention weight plateaus” "
    "(§4.2; Figure 4, bottom left)"
)


def _attention_lower(standard: ByLength) -> Claim:
    last = {n: [one.total[-1] for one in curves_of(cell)] for n, cell in standard.items()}
    return Claim(
        "With standard attention, the shorter the strings trained on, the less attention there is "
        "on position 1 in the end, on average over the runs",
        PLATEAUS,
        "; ".join(
            f"{n}: {fmean(some):.3f}, {_counted(standard[n])}" for n, some in last.items() if some
        ),
        _rising(standard, last),
    )


def _attention_earlier(standard: ByLength) -> Claim:
    def plateaus(runs: CellRecords) -> list[float]:
        return [_plateau(one) for one in curves_of(runs)]

    epochs = {n: plateaus(runs) for n, cell in standard.items() if (runs := _learned(cell))}
    return Claim(
        "With standard attention that learned its training length, the shorter the strings trained "
        "on, the earlier the attention on position 1 plateaus: from that epoch on it stays within "
        f"{percent(SETTLED, 0)} % of its last value",
        f"{PLATEAUS}; {percent(SETTLED, 0)} % is ours",
        _of_learned(standard, lambda runs: f"epoch {fmean(plateaus(runs)):.1f}"),
        _rising(standard, epochs),
    )


def _rising(cells: ByLength, runs: Mapping[int, Sequence[float]]) -> Answer:
    """Return whether a number of each run is the higher the longer the strings trained on.

    A length that too few runs learned cannot tell.
    """
    return every(
        higher(runs[b], runs[a], missing=cells[a].missing + cells[b].missing)
        if _learned(cells[a]) and _learned(cells[b])
        else "cannot tell"
        for a, b in pairwise(cells)
    )


def _plateau(curve: Mean) -> float:
    """Return the epoch from which on attention stays near its last value."""
    last = curve.total[-1]
    far = [i for i, one in enumerate(curve.total) if abs(one - last) > SETTLED * last]
    return float(curve.epoch[max(far) + 1] if far else curve.epoch[0])


def _parity(cells: Mapping[Key, CellRecords]) -> list[Claim]:
    paper = (
        "“unable to get a transformer to learn to recognize PARITY” (§4.1), with standard "
        "attention; {} % is ours"
    )
    same = (
        "The same transformer, with the heads and position code of PARITY's exact solution, does "
        "not learn PARITY"
    )
    runs = {(kind, n): one for (task, kind, n), one in cells.items() if task == PARITY}
    further = {key: Score.of_test(one) for key, one in runs.items()}
    near = {key: Score.of_validation(one) for key, one in runs.items()}
    return [
        Claim(
            f"{same}: at most {percent(GUESSING, 0)} % at {TEST}",
            paper.format(percent(GUESSING, 0)),
            _by_kind(further),
            every(at_most(score, GUESSING) for score in further.values()),
        ),
        Claim(
            f"{same}, at the training length: less than {percent(HALF_WAY, 0)} %, halfway between "
            "chance and 100 % (there are only 1,024 strings of length 10, so some can be "
            "memorised)",
            paper.format(percent(HALF_WAY, 0)),
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
    "the legend) and tested on strings of length 1000, after every five epochs of 100 strings: "
    "cross-entropy, accuracy, and the total weight that CLS gives to position 1 in both "
    "layers, mean of all runs. Left: standard attention. Right: logits scaled by log n.",
    reduced="5 runs instead of 20; PARITY with standard attention and training lengths 10 and 100 "
    "only. All 10,000 updates are done.",
    core_hours=(0.5, 3.3),  # 38 s a run, as measured for 120 of them
)
def carry_out(bench: Bench) -> Findings:
    """Train every model at every length, and read their curves."""
    keys: list[Key] = [(FIRST, kind, n) for n in LENGTHS for kind in (SCALED, STANDARD)]
    keys += [(PARITY, kind, n) for n in LENGTHS for kind in OPTIONS]
    plans = {
        (task, kind, length): CellPlan(
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
    got = bench.train_each(plans, lambda key: bench.choose(_quick(key), True))
    means = {key: mean for key, one in got.items() if (mean := mean_of(one)) is not None}
    rows = [row for key, mean in means.items() for row in _rows(key, mean)]
    every = records_of(got.values())
    return Findings(rows, claims(got), lambda: _draw(means), _REMARKS, records=every)


def _quick(key: Key) -> bool:
    """Return whether a curve belongs to the scale quick."""
    task, kind, length = key
    return task == FIRST or (kind == STANDARD and length in PARITY_QUICK)


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
    "The paper plots curves and prints no numbers. Claims about accuracy and cross-entropy are "
    "judged by the final weights on 1,000 held-out strings. The curves use 100 strings, half of "
    "them beginning with 1, and the same every time; the paper draws new ones.",
    "Curves, cross-entropies and attention are means over all runs, as in the paper. What the "
    "paper says of learned transformers is asked of the runs that learned their training length "
    "(99 % of 1,000 strings), if at least three did; otherwise it cannot be told.",
    "A claim about a limit holds (or differs) if the 95 % interval of the mean, or every run, is "
    "on that side; one about two means, if Welch's interval of their difference, or every pair of "
    "runs, is.",
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
            title=f"{kind[0].upper()}{kind[1:]}" if what == "bits" else "",
            x="epoch",
            y=label,
            level={"bits": 1.0, "accuracy": 0.5}.get(what),
            xlim=(0, None),
            ylim=(0.45, 1.02) if what == "accuracy" else (0, None),
        )

    return Figure([[panel(kind, *one) for kind in OPTIONS] for one in _PANELS])
