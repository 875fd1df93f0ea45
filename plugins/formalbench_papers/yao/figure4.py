"""Yao et al. (2021), Figure 4: what its experiments share, and accuracy by position.

A mean over strings longer than those of training is mostly one over their beginnings, which are
as long as what training has seen. This tells the parts from each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from formalbench.contracts.metric import Measure
from formalbench.contracts.record import Record
from formalbench.contracts.source import HasBrackets
from formalbench.evaluation.cells import test_set
from formalbench.evaluation.evaluate import CellScore
from formalbench.metrics.close_brackets import MICRO, CloseBrackets

from formalbench_papers.framework.bench import Bench, NoWeightsError, score_again

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TASK = "dyck-8-10:generate"
QUICK = "yao-fig4-quick"

QUICK_LSTM = "yao-fig4-lstm-quick"
"""The same with both of the paper's rates: the greater one suits the Transformer, and an LSTM takes
half as long."""

BUDGET = (
    "two trials of three; for a Transformer one learning rate, 0.01, in place of the better of "
    "0.01 and 0.001; 2·10⁷ training tokens, each seen once, where the paper has up to 100 epochs "
    "of 2·10⁶; 10⁵ validation tokens of 2·10⁵. All 10⁶ test tokens. Rate and steps were set by "
    "hand after single runs, which were looked at on longer strings, too; not those of the test."
)
"""What ``quick`` has less, as a remark says it."""


def draw_curve(
    axes: Axes, places: Sequence[float], trials: Sequence[Sequence[float]], label: str, color: str
) -> None:
    """Draw the means as a line, every trial as a dot."""
    means = [100 * sum(values) / len(values) for values in trials]
    axes.plot(places, means, marker="o", color=color, label=label)
    for place, values in zip(places, trials, strict=True):
        dots = [100 * value for value in values]
        axes.plot([place] * len(dots), dots, ".", color=color, alpha=0.45, markersize=4)


_AT = f"{MICRO}-at-"
"""What the metric's names begin with, before a position."""

Positions = Mapping[int, Measure]
"""How often the right close was predicted, by how many symbols stood before it."""


def by_position(bench: Bench, records: Sequence[Record]) -> list[Positions | None]:
    """Test the selected weights of some runs again, on the strings that they were tested on.

    Args:
        bench: knows where the weights are.
        records: of runs on one task, of brackets to ``generate``, under one protocol.

    Returns:
        One per run; None for one that kept no weights.
    """
    if not records:
        return []
    protocol = records[0].protocol
    task = protocol.apply(bench.host.task(records[0].task.name, dict(records[0].task.options)))
    assert isinstance(task.source, HasBrackets)
    task = replace(task, extra_metrics=(CloseBrackets(task.source.closes, by="position"),))
    drawn = test_set(task, protocol)

    def find(record: Record) -> Positions | None:
        step = {"test_id": record.test_id, "metric": _AT, "strings": drawn.fingerprint}
        try:
            found = bench.measured(step, lambda: _placed(score_again(bench, record, task, drawn)))
        except NoWeightsError:
            return None
        return {int(place): Measure(*measure) for place, measure in found.items()}

    return [find(record) for record in records]


def share(placed: Positions, first: int, stop: int) -> float:
    """Return the share that is right of what is asked for from one position to before another.

    NaN if nothing is.
    """
    within = [measure for place, measure in placed.items() if first <= place < stop]
    return Measure(sum(one.total for one in within), sum(one.count for one in within)).mean


def _placed(scores: Sequence[CellScore]) -> dict[str, tuple[float, int]]:
    placed: dict[str, Measure] = {}
    for score in scores:
        for name, measure in score.measures.items():
            if name.startswith(_AT):
                place = name.removeprefix(_AT)
                placed[place] = placed.get(place, Measure(0.0, 0)).plus(measure)
    return {place: (measure.total, measure.count) for place, measure in placed.items()}
