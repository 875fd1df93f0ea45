"""Figure 3 of Chiang & Cholak (2022): one entry of the PARITY solution, varied and trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch
from formalbench.analysis.figures import BLUES, GREEN, GREY, INK, RED
from formalbench.contracts.example import tensors
from formalbench.contracts.task import Task
from torch import nn

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.curves import ETA, FLOOR
from formalbench_papers.framework.findings import Claim, Findings
from formalbench_papers.framework.measure import MeasuredAt, measure, random_strings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODEL = "exact-parity"

TRAINED_AT = 10
"""String length in training."""

START = 0.9
"""The entry before training."""

RATE = 3e-4

EVERY = 25
"""Updates between two tests."""

COLORS = (BLUES[1], BLUES[3], INK, "#000000")


@dataclass(frozen=True, slots=True)
class Course:
    """One training run.

    Attributes:
        start: what it starts from.
        seed: of its strings, and of its weights if they are random.
        steps: the updates made before each test.
        tests: what each test found.
    """

    start: str
    seed: int
    steps: tuple[int, ...]
    tests: tuple[MeasuredAt, ...]


PERTURBED, RANDOM = "perturbed solution", "random weights"

Sweep = dict[int, list[tuple[float, MeasuredAt]]]
"""By string length: value of the entry, and what was measured."""


def carry_out(bench: Bench) -> Findings:
    """Vary the entry at several lengths, then train from a perturbed one and from nothing."""
    task = bench.task("parity")
    sweep = _sweep(bench, task)
    courses = [
        _train(bench, task, start, seed)
        for start in (PERTURBED, RANDOM)
        for seed in range(bench.choose(3, 5))
    ]
    rows = [
        {"panel": "entry", "start": "", "seed": "", "step": "", "entry": entry, **asdict(one)}
        for curve in sweep.values()
        for entry, one in curve
    ] + [
        {
            "panel": "training",
            "start": course.start,
            "seed": course.seed,
            "step": step,
            "entry": START if course.start == PERTURBED else "",
            **asdict(one),
        }
        for course in courses
        for step, one in zip(course.steps, course.tests, strict=True)
    ]
    return Findings(rows, _claims(sweep, courses), lambda: _draw(sweep, courses), _REMARKS)


_REMARKS = (
    "The string length of the paper's figure is not said: three are shown, since the width of the "
    "peak goes with 1/n.",
    "As printed, only the entry of the doubled matrix that computes k/n is changed, not that of "
    "-k/n.",
    "With ε = 0 the output layer of Proposition 2 has no gradient: it is trained with ε = 10⁻⁵, "
    "one string per update, Adam 3·10⁻⁴, all weights, as in §4.1. Random weights are PyTorch's "
    "default for the same network.",
)


def _sweep(bench: Bench, task: Task) -> Sweep:
    count = bench.choose(200, 1000)
    lengths = bench.choose((10, 30, 100), (10, 30, 100, 300))
    sweep: Sweep = {}
    for length in lengths:
        bench.report(f"varying the entry, strings of length {length}")
        strings_BN = random_strings(task, length, count)
        sweep[length] = [
            (
                entry,
                measure(
                    bench.network(MODEL, task, norm=True, eps=0.0, eta=ETA, value_6_2=entry),
                    task,
                    strings_BN,
                ),
            )
            for entry in _entries(bench.choose(20, 40))
        ]
    return sweep


def _entries(steps: int) -> list[float]:
    """Return values from 0.85 to 1.15, denser near 1, and 1 itself."""
    distances = [0.15 * (step / steps) ** 2 for step in range(1, steps + 1)]
    return sorted({1.0, *(1 - d for d in distances), *(1 + d for d in distances)})


def _train(bench: Bench, task: Task, start: str, seed: int) -> Course:
    bench.report(f"training from {start}, seed {seed}")
    network = bench.network(
        MODEL, task, norm=True, eps=1e-5, eta=ETA, value_6_2=START, network="transformer"
    )
    if start == RANDOM:
        _forget(network, seed)
    test_BN = random_strings(task, TRAINED_AT, bench.choose(200, 1000))
    steps = bench.choose(1000, 10_000)
    optimiser = torch.optim.Adam(network.parameters(), RATE)
    marks, tests = [], []
    for step in range(steps + 1):
        if step % EVERY == 0:
            marks.append(step)
            tests.append(measure(network, task, test_BN))
        stream = task.stream("reproduce", "train", seed, step)
        example = tensors(task.sample(stream, TRAINED_AT, 1))
        loss = task.objective.loss(network(example.batch), example)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return Course(start, seed, tuple(marks), tuple(tests))


def _forget(network: nn.Module, seed: int) -> None:
    """Put PyTorch's default random weights into the place of the constructed ones."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for module in network.modules():
            reset = getattr(module, "reset_parameters", None)
            if callable(reset):
                reset()


def _claims(sweep: Sweep, courses: Sequence[Course]) -> list[Claim]:
    at_one = [one for curve in sweep.values() for entry, one in curve if entry == 1.0]
    shortest, longest = min(sweep), max(sweep)
    widths = {length: _width(sweep[length]) for length in sweep}
    far = [one for entry, one in sweep[longest] if abs(entry - 1) > 0.05]
    recovered = [course.tests[-1] for course in courses if course.start == PERTURBED]
    before = [course.tests[0] for course in courses if course.start == PERTURBED]
    learned = [course.tests[-1] for course in courses if course.start == RANDOM]
    return [
        Claim(
            "with the entry as constructed (1), accuracy is perfect and the cross-entropy is η",
            "Figure 3",
            f"{100 * min(one.accuracy for one in at_one):.1f} %, "
            f"{max(one.max_bits for one in at_one):.6f} bits",
            all(one.accuracy == 1 and abs(one.max_bits - FLOOR) < 1e-9 for one in at_one),
        ),
        Claim(
            "both are extremely sensitive to the entry",
            "Figure 3",
            f"length {longest}: 5 % off and more, accuracy at most "
            f"{100 * max(one.accuracy for one in far):.1f} %, cross-entropy at least "
            f"{min(one.mean_bits for one in far):.2f} bits",
            all(one.accuracy < 0.65 and one.mean_bits > 1 for one in far),
        ),
        Claim(
            "the longer the strings, the more so",
            "k/n must be told from (k ± 1)/n",
            "accuracy is 99 % or more within "
            + ", ".join(f"±{width / 2:.3g} (length {n})" for n, width in widths.items()),
            widths[longest] < widths[shortest] * 2 * shortest / longest,
        ),
        Claim(
            "perturbed a little, the model can recover",
            "§4.1",
            f"from {START}: accuracy {_span(before)} before, {_span(recovered)} after "
            f"{courses[0].steps[-1]} updates; cross-entropy at most "
            f"{max(one.mean_bits for one in recovered):.4f} bits",
            all(one.accuracy == 1 and one.mean_bits < 0.1 for one in recovered),
        ),
        Claim(
            "it is incapable of learning from scratch",
            "§4.1",
            f"from random weights: accuracy {_span(learned)} after the same updates, "
            f"cross-entropy at least {min(one.mean_bits for one in learned):.3f} bits",
            all(one.accuracy < 0.65 and one.mean_bits > 0.9 for one in learned),
        ),
    ]


def _width(curve: Sequence[tuple[float, MeasuredAt]]) -> float:
    """Return how wide the entries around 1 lie at which 99 % of the strings are right."""
    low = high = 1.0
    for entry, one in sorted(curve, key=lambda pair: abs(pair[0] - 1)):
        if one.accuracy < 0.99:
            break
        low, high = min(low, entry), max(high, entry)
    return high - low


def _span(tests: Sequence[MeasuredAt]) -> str:
    low, high = (100 * pick(one.accuracy for one in tests) for pick in (min, max))
    return f"{low:.1f} %" if low == high else f"{low:.1f}–{high:.1f} %"


def _draw(sweep: Sweep, courses: Sequence[Course]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 5.4), layout="constrained")
    (top_left, top_right), (bottom_left, bottom_right) = figure.subplots(
        2, 2, sharex="col", sharey="row"
    )
    for (length, curve), color in zip(sweep.items(), COLORS, strict=False):
        entries = [entry for entry, _ in curve]
        bits, accuracy = [m.mean_bits for _, m in curve], [m.accuracy for _, m in curve]
        top_left.plot(entries, bits, color=color, label=f"length {length}")
        bottom_left.plot(entries, accuracy, color=color)
    for course in courses:
        color = GREEN if course.start == PERTURBED else RED
        name = f"from {course.start}" if course.seed == 0 else "_"
        style = {"color": color, "linewidth": 1.3, "alpha": 0.85}
        top_right.plot(course.steps, [m.mean_bits for m in course.tests], label=name, **style)
        bottom_right.plot(course.steps, [m.accuracy for m in course.tests], **style)
    for axes in (top_left, top_right):
        _mark(axes, 1.0)
    top_right.legend(loc="upper right")
    handles, names = top_left.get_legend_handles_labels()
    bottom_left.legend(handles, names, loc="lower center", ncols=len(names))
    for axes in (bottom_left, bottom_right):
        _mark(axes, 0.5)
    top_left.set(title="One entry varied, ε = 0", ylabel="cross-entropy (bits)", ylim=(-0.25, None))
    top_right.set(title=f"Trained, strings of length {TRAINED_AT}")
    bottom_left.set(xlabel=r"entry $[\overline{W}^{1,1,V}]_{6,2}$", ylabel="accuracy")
    bottom_left.set(ylim=(-0.03, 1.06))
    bottom_right.set(xlabel="updates, one string each")
    return figure


def _mark(axes: Axes, level: float) -> None:
    """Draw what a coin reaches."""
    axes.axhline(level, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
