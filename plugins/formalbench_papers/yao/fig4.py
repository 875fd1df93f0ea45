"""What the parts of Figure 4 of Yao et al. (2021) share: Dyck-(8, 10), the budget, the curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
