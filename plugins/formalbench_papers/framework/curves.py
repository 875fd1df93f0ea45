"""Exact models measured against the length of strings."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean

import numpy as np
import torch
from formalbench.contracts.config import Value
from formalbench.contracts.network import Example, tensors
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.device import one_thread
from formalbench.verification.judge import Judge, Tally
from torch import nn

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Row


@dataclass(frozen=True, slots=True)
class MeasuredAt:
    """Accuracy and cross-entropy at one length.

    Attributes:
        length: of the strings, CLS not counted.
        strings: how many.
        accuracy: the share answered right.
        mean_bits, max_bits: cross-entropy, the mean and the worst.
    """

    length: int
    strings: int
    accuracy: float
    mean_bits: float
    max_bits: float


def measure(network: nn.Module, task: Task, strings_BN: Symbols) -> MeasuredAt:
    """Ask a network about strings of one length; a logit that is no number counts as wrong."""
    tally = Tally()
    Judge(network.eval(), task, torch.device("cpu")).add(task.examples(strings_BN), tally)
    mean = tally.mean_bits if tally.finite else float("inf")
    return MeasuredAt(strings_BN.shape[1], tally.strings, tally.accuracy, mean, tally.max_bits)


def random_strings(task: Task, length: int, count: int) -> Symbols:
    """Return strings of one length, as many members as others; the same ones every time."""
    strings_BN: Symbols = task.sample(task.stream("reproduce", length), length, count).inputs
    return strings_BN


def mean_of(tests: Sequence[MeasuredAt]) -> MeasuredAt:
    """Average several tests with equal weight; the length is that of the last."""
    return MeasuredAt(
        length=tests[-1].length,
        strings=sum(test.strings for test in tests),
        accuracy=fmean(test.accuracy for test in tests),
        mean_bits=fmean(test.mean_bits for test in tests),
        max_bits=max(test.max_bits for test in tests),
    )


def train_and_test(
    network: nn.Module,
    task: Task,
    example_of: Callable[[int], Example],
    test_of: Callable[[int], MeasuredAt],
    steps: int,
    marks: Collection[int],
    rate: float,
) -> Iterator[tuple[int, MeasuredAt]]:
    """Train a network by Adam at a constant rate, on one thread, and test it on the way.

    Args:
        network: its weights are changed.
        task: what it is asked.
        example_of: the strings of each update, counted from 0.
        test_of: tests the network after a number of updates.
        steps: how many updates.
        marks: the numbers of updates after which it is tested.
        rate: the learning rate.

    Yields:
        The number of updates made and what the test found.
    """
    optimiser = torch.optim.Adam(network.parameters(), rate)
    with one_thread():
        for step in range(steps + 1):
            if step in marks:
                yield step, test_of(step)
            if step < steps:
                example = tensors(example_of(step))
                loss = task.objective.loss(network(example.batch), example)
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()


def spread_lengths(first: int, last: int, count: int, *, even: bool = False) -> list[int]:
    """Return about `count` lengths evenly spread on a logarithmic scale, both ends included.

    Args:
        first: the least.
        last: the greatest.
        count: how many, at most.
        even: whether to take even ones only.
    """
    lengths = np.geomspace(first, last, count)
    step = 2 if even else 1
    return sorted({max(step, round(float(length) / step) * step) for length in lengths})


ETA = 0.001
"""η in nats, of the output layer of Chiang & Cholak (2022), Proposition 2."""

FLOOR = ETA / math.log(2)
"""The same in bits: the cross-entropy that this layer leaves."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A language and the exact model for it.

    Attributes:
        title: as the figure calls the language.
        task, model: names, as on the command line.
    """

    title: str
    task: str
    model: str


@dataclass(frozen=True, slots=True)
class CurveVariant:
    """A setting of the model: one curve.

    Attributes:
        name: as the figure labels it.
        color: of its line.
        options: of the model.
    """

    name: str
    color: str
    options: Mapping[str, Value] = field(default_factory=dict)


Curves = dict[tuple[str, str], list[MeasuredAt]]
"""By language and variant, in the order of the lengths."""


def measure_curves(
    bench: Bench,
    languages: Sequence[Recogniser],
    variants: Sequence[CurveVariant],
    lengths: Sequence[int],
    count: int,
) -> Curves:
    """Ask every variant of every model about `count` random strings of each length."""
    curves: Curves = {}
    for language in languages:
        task = bench.task(language.task)
        for variant in variants:
            bench.report(f"{language.title}, {variant.name}")
            curves[language.title, variant.name] = [
                measure_at(bench, language.model, variant.options, task, length, count)
                for length in lengths
            ]
    return curves


def measure_at(
    bench: Bench,
    model: str,
    options: Mapping[str, Value],
    task: Task,
    length: int,
    count: int,
) -> MeasuredAt:
    """Measure an exact model on random strings of a length, unless it was measured before."""
    step = {
        **{"model": model, "options": dict(options), "task": task.source_name},
        **{"length": length, "strings": count},
    }

    def test() -> dict[str, float]:
        network = bench.network(model, task, **options)
        return asdict(measure(network, task, random_strings(task, length, count)))

    return MeasuredAt(**bench.measured(step, test))


def curve_rows(curves: Curves, **constants: float) -> list[Row]:
    """Return the data of curves; `constants` are the same in every row."""
    return [
        {"language": language, "variant": variant, **constants, **asdict(one)}
        for (language, variant), curve in curves.items()
        for one in curve
    ]
