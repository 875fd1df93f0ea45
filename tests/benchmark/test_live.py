"""The live table: what it shows of a run in flight."""

import io

from formalbench.contracts.hooks import Progress, RunInfo
from formalbench.ui.live import LiveTable
from rich.console import Console

RUN = RunInfo("t", "u", "lstm", "tiny:causal-lm", "text-quick", 0.001, 0, 1000)


def shown(progress):
    console = Console(file=io.StringIO(), width=120)
    table = LiveTable(console, total=1)
    table.formalbench_run_started(RUN)
    table.formalbench_run_progress(RUN, progress)
    console.print(table._render())
    return console.file.getvalue()


def test_a_run_in_training_shows_how_fast_it_is():
    metrics = {"train/loss": 2.5, "train/error": 0.75, "train/tokens-per-second": 12345.6}
    text = shown(Progress("train", 50, 32, metrics))
    assert "tokens/s" in text
    row = next(line for line in text.splitlines() if "tiny" in line)
    assert row.split() == ["lstm", "tiny:causal-lm", "0", "50/1000", "32", "2.5", "75.0%", "12,346"]


def test_a_run_in_its_test_has_no_speed():
    row = next(line for line in shown(Progress("test", 50, 32)).splitlines() if "tiny" in line)
    assert row.split() == ["lstm", "tiny:causal-lm", "0", "test", "32"]


def test_what_is_left_takes_as_long_as_what_is_done():
    table = LiveTable(Console(file=io.StringIO(), width=120), total=5, finished=1)
    table.formalbench_run_started(RUN)
    assert table._left(10) == ""
    table.formalbench_run_progress(RUN, Progress("train", 500, 32))
    assert table._left(10) == ", about 1:10 left"  # half a run of four
