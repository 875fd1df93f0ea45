"""Exact models against the length of strings: what figures of constructions show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from formalbench.contracts.config import Value
from formalbench.contracts.task import Task
from torch import nn

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Row
from formalbench_papers.framework.measure import MeasuredAt, measure, random_strings

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
            network = bench.network(language.model, task, **variant.options)
            curves[language.title, variant.name] = [
                _at(bench, language, variant, network, task, length, count) for length in lengths
            ]
    return curves


def _at(
    bench: Bench,
    language: Recogniser,
    variant: CurveVariant,
    network: nn.Module,
    task: Task,
    length: int,
    count: int,
) -> MeasuredAt:
    """Return a point of a curve."""
    step = {
        **{"model": language.model, "options": dict(variant.options), "task": language.task},
        **{"length": length, "strings": count},
    }
    found = bench.measured(
        step, lambda: asdict(measure(network, task, random_strings(task, length, count)))
    )
    return MeasuredAt(**found)


def curve_rows(curves: Curves, **constants: float) -> list[Row]:
    """Return the data of curves; `constants` are the same in every row."""
    return [
        {"language": language, "variant": variant, **constants, **asdict(one)}
        for (language, variant), curve in curves.items()
        for one in curve
    ]
