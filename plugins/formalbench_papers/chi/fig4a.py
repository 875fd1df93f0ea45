"""Figure 4a of Chi et al. (2023): the receptive field of RegularGPT, by cumulative gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from formalbench.analysis.figures import BLUES, GREY, ORANGE
from formalbench.analysis.text import plural

from formalbench_papers.chi.models import REGULARGPT, TRANSFORMER
from formalbench_papers.chi.receptive_field import (
    CHANGED_STRINGS,
    Field,
    diagonal,
    measure_field,
)
from formalbench_papers.framework.answers import across
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Claim, Findings, Row
from formalbench_papers.framework.measure import random_strings
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.framework.tables import PaperModel
from formalbench_papers.framework.trained import TrainedNetwork, records_of, trained

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LENGTH = 500
STRINGS = 100
STRAIGHT = 0.1
"""A curve nowhere further than this from the diagonal is a straight line; the limit is ours."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One language: its task, and whether it is the paper's."""

    title: str
    task: str
    paper: str


PANELS = (
    Panel("PARITY", "parity", "Figure 4a"),
    Panel("Cycle Navigation", "cycle-navigation", "not shown"),
)


def carry_out(bench: Bench) -> Findings:
    """Train RegularGPT on both languages, a Transformer on the paper's, and measure all."""
    wanted = [_wanted(bench, panel, REGULARGPT, None) for panel in PANELS]
    every = trained(bench, [*wanted, _wanted(bench, PANELS[0], TRANSFORMER, 1)])
    *networks, contrast = every
    fields: dict[str, list[Field]] = {}
    for panel, own in zip(PANELS, networks, strict=True):
        bench.report(f"{panel.title}: gradients of {STRINGS} strings")
        fields[panel.title] = [_look(network, REGULARGPT.title, panel, bench) for network in own]
    claims = [
        claim
        for panel, own in zip(PANELS, networks, strict=True)
        for claim in _claims(panel, fields[panel.title], all(one.learned for one in own))
    ]
    others = [_look(network, TRANSFORMER.title, PANELS[0], bench) for network in contrast]
    fields[PANELS[0].title] += others
    remarks = [*_REMARKS, *map(_on_contrast, others)]
    return Findings(
        _rows(fields), claims, lambda: _draw(fields), remarks, records=records_of(every)
    )


def _look(network: TrainedNetwork, model: str, panel: Panel, bench: Bench) -> Field:
    """Return the receptive field of a network; of RegularGPT, also whether answers follow."""
    change = model == REGULARGPT.title

    def look_inside() -> dict[str, Any]:
        task = bench.task(panel.task)
        strings_BN = random_strings(task, LENGTH, STRINGS)
        found = asdict(measure_field(network, model, task, strings_BN, change=change))
        return {**found, **{name: found[name].tolist() for name in ("cumulative", "one")}}

    step = {"task": panel.task, "find": "gradients", "length": LENGTH, "strings": STRINGS}
    found = network.find({**step, "change": change}, look_inside)
    return Field(**{**found, **{name: np.array(found[name]) for name in ("cumulative", "one")}})


def _wanted(bench: Bench, panel: Panel, model: PaperModel, seeds: int | None) -> Wanted:
    return Wanted(
        model.title,
        panel.title,
        model.name,
        panel.task,
        bench.choose("chi-table1-quick", "chi-table1"),
        model.options(bench.scale),
        seeds=seeds,
    )


_REMARKS = (
    "The tool, as we understand §7.4 and Chi et al. (2022b): the norm of the gradient of the "
    "answer's loss with respect to the vector of each symbol, as a share of the sum over the "
    "string, added up from the most recent symbol to the earliest. Curves are means over "
    f"{STRINGS} random strings; the paper does not say over how many. Gradients are in double "
    "precision.",
    "How straight the paper's line is can only be read off its figure; its axis has no tick "
    "at 0, so that there, too, the most recent symbol seems to have much more than an equal share.",
    f"Whether every symbol counts is also asked without gradients: in {CHANGED_STRINGS} strings "
    "each symbol is changed, one at a time, and the answer must follow.",
    "Cycle Navigation is not in the paper's figure.",
)


def _on_contrast(field: Field) -> str:
    return (
        f"For contrast a Transformer with relative positions, trained alike, on PARITY: right on "
        f"{100 * field.accuracy:.1f} % of the test strings, at most {field.deviation:.2f} from the "
        f"diagonal, 99 % of the gradient in {field.reach:.0f} symbols. A slanted line says that "
        "all symbols count, not that they are counted right."
    )


def _claims(panel: Panel, fields: Sequence[Field], learned: bool) -> list[Claim]:
    said = "§7.4" if panel is PANELS[0] else panel.paper
    answers = [field.answers for field in fields if field.answers is not None]
    least = min((field.least for field in fields), default=0.0)
    halves = [100 * field.cumulative[LENGTH // 2] for field in fields]
    deviations = [field.deviation for field in fields]
    matters = across(
        field.answers is not None and field.answers >= 0.99 and field.least > 0 for field in fields
    )
    straight = across(deviation <= STRAIGHT for deviation in deviations)
    return [
        Claim(
            f"{panel.title}: the receptive field covers all {LENGTH} positions: with any one "
            "symbol changed, 99 % of the answers are right",
            said,
            f"{_range([100 * share for share in answers], 2)} %; the least gradient of a symbol is "
            f"{least:.1g} of an equal share; 99 % of the gradient is in the last "
            f"{_range([field.reach for field in fields], 0)} symbols "
            f"({plural(len(fields), 'network')})"
            if fields
            else "",
            matters if learned else "cannot tell",
        ),
        Claim(
            f"{panel.title}: the cumulative gradient is a straight line (nowhere more than "
            f"{STRAIGHT} from the diagonal: our limit, where the paper says “slanted”)",
            panel.paper,
            f"at most {_range(deviations, 2)} from the diagonal; {_range(halves, 0)} % of the "
            f"gradient is in the last {LENGTH // 2} symbols"
            if fields
            else "",
            straight if learned else "cannot tell",
        ),
    ]


def _range(values: Sequence[float], digits: int) -> str:
    """Return the least and the greatest value, or the only one; empty if there is none."""
    texts = [f"{value:.{digits}f}" for value in sorted(values)]
    return " to ".join(dict.fromkeys([*texts[:1], *texts[-1:]]))


def _rows(fields: dict[str, list[Field]]) -> list[Row]:
    return [
        {
            "language": language,
            "model": field.model,
            "seed": field.seed,
            "position": position,
            "cumulative": round(float(mean), 6),
            "one_string": round(float(one), 6),
        }
        for language, measured in fields.items()
        for field in measured
        for position, (mean, one) in enumerate(
            zip(field.cumulative, field.one, strict=True), start=1
        )
    ]


def _draw(fields: dict[str, list[Field]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 4.3), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, panel in zip(panels, PANELS, strict=True):
        _draw_panel(axes, panel, fields[panel.title])
    panels[0].set_ylabel("cumulative share of the gradient")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def _draw_panel(axes: Axes, panel: Panel, fields: Sequence[Field]) -> None:
    position = np.arange(1, LENGTH + 1)
    axes.plot(
        position, diagonal(LENGTH), color=GREY, linewidth=1, linestyle=(0, (4, 3)), label="diagonal"
    )
    for field in fields:
        ours = field.model == REGULARGPT.title
        color = BLUES[1 + field.seed % 3] if ours else ORANGE
        axes.plot(position, field.cumulative, color=color, zorder=3)
    for field in fields[:1]:
        axes.plot(position, field.one, color=GREY, linewidth=0.8, label="RegularGPT, one string")
    axes.plot([], [], color=BLUES[2], label="RegularGPT, mean of strings, each seed")
    axes.plot([], [], color=ORANGE, label="Transformer")
    axes.set(title=panel.title, xlabel="position", xlim=(0, LENGTH), ylim=(0, 1.02))
