"""Transformers trained on Dyck languages, as by Steffen, Glaus & Saeedi (2022), after Hahn (2020).

One network for each language, kind of attention, length and seed, trained and tested at that
length, as in the authors' report and code, but on other strings than those it was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from formalbench.analysis.figures import BLUES, GREY, RED
from formalbench.contracts.config import Value

from formalbench_papers.framework.accuracies import Score
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Findings, Row
from formalbench_papers.steffen.dyck_claims import (
    ATTENTIONS,
    FEWEST,
    LANGUAGES,
    LENGTHS,
    PUBLISHED,
    Curves,
    DyckPoint,
    cells,
    claims,
    members,
    published,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from formalbench_papers.framework.runs import Got, Wanted

COLORS = {"soft": BLUES[3], "hard": RED}

QUICK_LENGTHS = (10, 26, 50, 100)

BIMODAL = (
    *(("dyck-1", "soft", length) for length in (26, 50)),
    *(("dyck-1-2", "soft", length) for length in (26, 50)),
    *(("dyck-2", "soft", length) for length in (10, 26)),
)
"""Where some seeds learn all and others nothing, three do not decide: the scale paper has ten."""

MANY_SEEDS = 10

ORDER = (26, 100, 10, 50, 76, 150, 200, 6)
"""Lengths, those that decide first."""

MODEL: Mapping[str, Value] = {
    "width": 16,
    "heads": 2,
    "layers": 2,
    "norm": "post",
    "activation": "relu",
    "causal": False,
}
"""With 64 hidden units and sinusoidal positions, which are the defaults."""


def carry_out(bench: Bench) -> Findings:
    """Train and test at every length."""
    lengths = bench.choose(QUICK_LENGTHS, LENGTHS)
    every = bench.train(wanted(lengths, bench.choose("-quick", "")))
    curves: Curves = {}
    for got in sorted((one for one in every if one), key=_length):
        key = (got.wanted.task, str(got.wanted.model_options["attention"]))
        curves.setdefault(key, []).append(_point(got))
    rows = [row for key, curve in curves.items() for point in curve for row in _rows(key, point)]
    records = [record for got in every if got for record in got.records]
    return Findings(rows, claims(curves), lambda: _draw(curves), _REMARKS, cells(curves), records)


def _length(got: Got) -> int:
    return int(got.wanted.column.removeprefix("n = "))


def wanted(lengths: Sequence[int], suffix: str) -> list[Wanted]:
    """Return what to train: every language, kind of attention, and length with enough members."""
    from formalbench_papers.framework.runs import Wanted

    return [
        Wanted(
            row=f"{title}, {attention}",
            column=f"n = {length}",
            model="transformer",
            task=task,
            protocol=f"steffen-dyck-{length}{suffix}",
            model_options={**MODEL, "attention": attention},
            task_options={"outside": "changed", "split": "by-string"},
            seeds=MANY_SEEDS if not suffix and (task, attention, length) in BIMODAL else None,
        )
        for length in sorted(lengths, key=ORDER.index)
        for task, title in LANGUAGES.items()
        for attention in ATTENTIONS
        if members(task, length) >= FEWEST
    ]


def _point(got: Got) -> DyckPoint:
    tests = [record.test for record in got.chosen if record.test is not None]
    return DyckPoint(
        length=_length(got),
        score=Score.of_test(got),
        accuracies=tuple(test.accuracy for test in tests),
        bits=tuple(test.cells.bits for test in tests),
        chance=tests[0].chance_length if tests else 0.5,
    )


def _rows(key: tuple[str, str], point: DyckPoint) -> list[Row]:
    """Return a line for each seed, with the authors' numbers beside it."""
    accuracy, bits = published(key, point.length) or ("", "")
    return [
        {
            "task": key[0],
            "attention": key[1],
            "length": point.length,
            "run": run,
            "accuracy": mine,
            "bits": my_bits,
            "chance": point.chance,
            "paper_accuracy": accuracy,
            "paper_bits": bits,
        }
        for run, (mine, my_bits) in enumerate(zip(point.accuracies, point.bits, strict=True))
    ]


def _too_short() -> str:
    """Say which lengths have too few members, and how many these are."""
    few = [
        (title, length, members(task, length))
        for task, title in LANGUAGES.items()
        for length in LENGTHS
        if members(task, length) < FEWEST
    ]
    return ", ".join(f"{title} at n = {length} ({count})" for title, length, count in few)


_REMARKS = (
    "Every length has networks of its own, trained and tested at that length, as in the authors' "
    "code; three seeds, and ten at the scale paper where some learn all and others nothing; theirs "
    "is one run.",
    "Strings are kept apart (`task.split=by-string`): of each length half are for training, a "
    "quarter each for validation, which chooses the checkpoint, and for the test. The authors draw "
    "all from the same strings.",
    f"Lengths with fewer than {FEWEST} members are left out, since so few cannot be divided: "
    f"{_too_short()}. The authors train and test there on the same ones.",
    "The slides print no numbers: those in the table are from the outputs in the authors' "
    "repository. They tried hard attention on Dyck-2 only.",
    "A cell holds if our average is within 2 points of the authors' accuracy or within its 95 % "
    "interval, which is that of one run on 1,000 strings; it differs if our interval does not meet "
    "theirs; otherwise the seeds cannot tell.",
    "The published hard attention sees nothing: its code takes the positions for the batch, so "
    "that each attends to itself alone, and the answer, read at CLS, is the same for all strings "
    "of a length. Its argmax passes no gradient to queries and keys either. Ours attends, and "
    "passes the gradient of the softmax (straight-through).",
    "Non-members are members with one symbol changed, half of all strings "
    "(`task.outside=changed`), as the authors make them after Hahn. The brackets of some type then "
    "do not add up: counting tells all three languages from their non-members, and nothing here "
    "asks for nesting. Members are uniform here, and those of a random walk there.",
    "Chance is 50 % and 1 bit at every length (dashed): members exist at even lengths only, and "
    "the authors' 5, 25 and 75 are really 6, 26 and 76 symbols. So no baseline of 75 % hides here.",
    "CLS stands in front and positions are fixed sinusoids; the authors have CLS at the end and "
    "learn the frequencies.",
    "Two layers and two heads are fewer than the D + 1 = 3 layers of three heads with which hard "
    "attention can recognise Dyck-(1, 2) at every length (Yao et al. 2021, Theorem 4.1).",
)


def _draw(curves: Curves) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey="row")
    lengths = sorted({point.length for curve in curves.values() for point in curve})
    for column, (task, title) in enumerate(LANGUAGES.items()):
        above, below = panels[0][column], panels[1][column]
        for attention in ATTENTIONS:
            if (task, attention) in curves:
                _draw_curve(above, below, (task, attention), curves[task, attention])
        above.set(title=title, ylim=(-0.05, 1.12))
        below.set(xlabel="string length n", ylim=(-0.03, 1.05), xscale="log")
        below.set_xticks(lengths, [str(length) for length in lengths], minor=False)
        below.set_xticks([], minor=True)
    panels[0][0].set_ylabel("cross-entropy (bits)")
    panels[1][0].set_ylabel("accuracy")
    lines = {line.get_label(): line for axes in panels.flat for line in axes.get_lines()}
    shown = {name: line for name, line in lines.items() if not str(name).startswith("_")}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3)
    return figure


def _draw_curve(above: Axes, below: Axes, key: tuple[str, str], curve: Sequence[DyckPoint]) -> None:
    name, color = f"{key[1]} attention", COLORS[key[1]]
    lengths = [point.length for point in curve]
    for axes, index, chance in ((above, 1, 1.0), (below, 0, curve[0].chance)):
        means = [(point.score.mean or 0.0, point.mean_bits)[index] for point in curve]
        axes.axhline(chance, color=GREY, linewidth=0.9, linestyle=(0, (3, 2)), label="chance")
        axes.plot(lengths, means, color=color, label=f"{name}, mean of seeds", zorder=3)
        for point in curve:
            each = (point.accuracies, point.bits)[index]
            axes.plot([point.length] * len(each), each, ".", color=color, ms=5, alpha=0.6, zorder=4)
        if key in PUBLISHED:
            theirs = [PUBLISHED[key][LENGTHS.index(length)][index] for length in lengths]
            axes.plot(
                lengths,
                theirs,
                linestyle="none",
                marker="o" if key[1] == "soft" else "s",
                markersize=8,
                markerfacecolor="none",
                markeredgecolor=color,
                label=f"{name}, the authors' run",
                zorder=5,
            )
