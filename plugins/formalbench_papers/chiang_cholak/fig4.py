"""Figure 4 of Chiang & Cholak (2022): learning FIRST, with and without log-length scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from formalbench.analysis.figures import BLUES, GREY
from formalbench.contracts.config import Value

from formalbench_papers.chiang_cholak.fig4_claims import claims
from formalbench_papers.chiang_cholak.fig4_curves import (
    FIRST,
    LENGTHS,
    PARITY,
    SCALED,
    STANDARD,
    TEST,
    Key,
    Mean,
    mean_of,
)
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Findings, Row
from formalbench_papers.framework.runs import Got, Wanted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PROTOCOL = "chiang-cholak-fig4-{}"
"""By training length; the scale quick has the first of its runs."""

QUICK_SEEDS = 5

PARITY_QUICK = (10, 100)

MODEL = "transformer-chiang-cholak-{}"
"""By task: layers, heads and position code are those of its exact solution."""

OPTIONS: dict[str, dict[str, Value]] = {STANDARD: {}, SCALED: {"log_length": True}}


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
    now = {wanted[key].shown for key in keys if bench.choose(_quick(key), True)}
    found = bench.train(list(wanted.values()), lambda one: one.shown in now)
    return findings({key: got for key, got in zip(keys, found, strict=True) if got is not None})


def _quick(key: Key) -> bool:
    """Say whether a curve belongs to the scale quick."""
    task, kind, length = key
    return task == FIRST or (kind == STANDARD and length in PARITY_QUICK)


def findings(got: Mapping[Key, Got]) -> Findings:
    """Make the curves and check the claims."""
    means = {key: mean for key, one in got.items() if (mean := mean_of(one)) is not None}
    rows = [row for key, mean in means.items() for row in _rows(key, mean)]
    every = [record for one in got.values() for record in one.records]
    return Findings(rows, claims(got), lambda: draw(means), _REMARKS, records=every)


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
    "The paper plots curves and prints no numbers. Claims about accuracy are judged by the last "
    "weights on 1,000 strings that nothing else has seen; the curves show 100 strings, the same "
    "after every epoch and half of them beginning with 1, where the paper draws new ones.",
    "Figure 4's caption says “strings of varying length”. The authors' code trains on one fixed "
    "length; so does this.",
    "FIRST has the fixed position code I[i = 1] of the authors' code, in a dimension of its own, "
    "added to learned symbol embeddings. CLS stands first and is read.",
    "PARITY has the codes i/n and cos iπ in a dimension each, with one learned scale each. The "
    "authors' code has eight copies of each, with scales inside the cosine, and reads CLS at the "
    "end.",
    "Initial weights are those of PyTorch's TransformerEncoder, as in the authors' code: Xavier's "
    "in attention, and both layers begin as copies of each other. With layers drawn apart, one run "
    "of five with attention scaled by log n was still at 50 % at its training length, 300, after "
    "all updates. Two logits and a softmax stand for the paper's one logit and sigmoid.",
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


def draw(means: Mapping[Key, Mean]) -> Figure:
    """Draw the figure: cross-entropy, accuracy, attention; standard on the left, scaled right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.2, 8.0), layout="constrained")
    grid = figure.subplots(len(_PANELS), 2, sharex=True, sharey="row")
    for row, (what, label) in zip(grid, _PANELS, strict=True):
        for axes, kind in zip(row, OPTIONS, strict=True):
            _draw_panel(axes, kind, what, means)
        row[0].set_ylabel(label)
        # Only when both are drawn: to set a limit ends the search for the other.
        row[0].set_ylim(*((0.45, 1.02) if what == "accuracy" else (0, None)))
    for axes, kind in zip(grid[0], OPTIONS, strict=True):
        axes.set_title(f"{kind[0].upper()}{kind[1:]}")
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    handles, names = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def _draw_panel(axes: Axes, kind: str, what: str, means: Mapping[Key, Mean]) -> None:
    if what != "total":
        chance = 1.0 if what == "bits" else 0.5
        axes.axhline(chance, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    for length in LENGTHS:
        mean = means.get((FIRST, kind, length))
        if mean is not None:
            label = f"n = {length}"
            axes.plot(mean.epoch, getattr(mean, what), color=_COLORS[length], label=label)
    axes.set_xlim(left=0)
