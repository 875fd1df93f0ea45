"""The theory page says what the published records show."""

from pathlib import Path

import formalbench
import pytest
from formalbench.host import PluginHost
from formalbench.statistics.result import SOLVED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory.md").read_text("utf-8")


@pytest.mark.parametrize("task", ["blocks-ab", "ends-in-b"])
@pytest.mark.parametrize(
    ("model", "solves"),
    [("transformer-positions=none", True), ("transformer-marker=both-positions=none", False)],
)
def test_where_the_answer_is_read_decides(model, solves, task):
    assert f"`{task}`" in PAGE.partition("All seeds solve")[2].partition("none at an end marker")[0]
    frame = formalbench.results(ROOT / "leaderboard" / "results" / "crasp" / model)
    version = PluginHost.load().protocol("standard").version
    lines = frame[(frame.task == task) & (frame.version == version) & frame.selected_rate]
    worst = lines.groupby("seed").accuracy.min()
    assert len(worst) >= 3
    assert lines.learned.all()
    assert ((worst >= SOLVED) == solves).all()
