"""Metrics that plugins add to an objective's, on the board."""

import inspect
from dataclasses import replace

import pytest
import torch
from built_records import with_sums
from formalbench.contracts.objective import Measure, Metric
from formalbench.contracts.record import MetricSum
from formalbench.contracts.task import Task
from formalbench.evaluation import evaluate
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.statistics.build import View, build_page
from formalbench.store import Store
from formalbench_leaderboard.publishing.rerun import retrained


@pytest.fixture
def measured(make_record):
    """Return a function: a record in which a plugin's metric was measured at four lengths."""

    def make(model="regulargpt", seed=0, **sums):
        return with_sums(make_record(model, seed=seed), {"f1": 1}, **sums)

    return make


def page_of(*records):
    return build_page(records, View("test", ("parity",)))


def test_it_is_the_mean_over_cells_and_seeds(measured, make_record):
    page = page_of(
        measured(f1=([10, 0, 30, 0], [100, 100, 50, 0]), f10=([1] * 4, [1] * 4)),
        measured(seed=1, f1=([50] * 4, [100] * 4)),
        measured("rnn", f1_rare=([1, 2, 3, 4], [4] * 4)),
        make_record("lstm"),
    )
    (board,) = page.boards
    found = {row.model: row.results[0].metrics for row in board.rows}
    assert found == {
        "regulargpt": {"f1": pytest.approx(((0.1 + 0.0 + 0.6) / 3 + 0.5) / 2)},
        "rnn": {"f1-rare": pytest.approx(0.625)},
        "lstm": {},
    }


class F1(Metric):
    """The F1 score of class 1."""

    name = "f1"

    def measure(self, logits, example):
        said, right = logits.argmax(-1).bool(), example.targets.bool()
        counts = ((said & right), (said & ~right), (~said & right), said | True)
        return torch.stack([count.sum() for count in counts]).double()

    def finish(self, state):
        hit, wrong, missed, count = state
        least = 2 * hit + wrong + missed
        return {"f1": Measure(count * (2 * hit / least if least else 0.0), round(count))}


PLUGIN = f"""
import torch
from formalbench import Measure, Metric, MetricSpec, hookimpl

{inspect.getsource(F1)}

@hookimpl
def formalbench_metrics():
    yield MetricSpec("f1", 1, "F1 score", F1, ("classify",))
"""


class FirstTwo(torch.nn.Module):
    """Says 1 if both of the first symbols are 1."""

    def forward(self, batch):
        both = (batch.symbols[:, 0] & batch.symbols[:, 1]).float()
        return torch.stack((1 - both, both), dim=1)


def task_of(host, *metrics):
    base = host.task("first")
    return Task("first", 1, base.source, base.objective, extra_metrics=metrics)


def f1_of(examples):
    """Return the F1 score of the first two symbols on examples, all strings together."""
    symbols = [example.inputs[:, :2].tolist() for example in examples]
    pairs = [(first, second) for rows in symbols for first, second in rows]
    hit, missed = pairs.count((1, 1)), pairs.count((1, 0))
    return 2 * hit / (2 * hit + missed)


def test_one_that_is_no_mean_is_finished_over_merged_counts(host, monkeypatch):
    """Batch by batch, the mean of F1 would be another number."""
    task = task_of(host, F1())
    example = task.sample(task.stream("test", 6), 6, 64)
    strings = TestSet((Cell(6, 6, (example,)),))
    monkeypatch.setattr(evaluate, "MAX_SYMBOLS", 6 * 8)  # eight strings a batch
    (score,) = evaluate.evaluate(FirstTwo(), task, strings, torch.device("cpu"))
    assert score.measures["f1"].mean == pytest.approx(f1_of([example]))
    assert score.measures["f1"].count == 64


def test_over_the_lengths_of_a_test_it_is_finished_once(host):
    """Neither the mean of its values at each length, nor of what is a mean anyway."""

    class Ones(Metric):
        name = "ones"

        def measure(self, logits, example):
            return torch.tensor([example.inputs.sum(), example.inputs.numel()]).double()

    task = task_of(host, F1(), Ones())
    sizes = ((2, 5), (6, 64), (9, 200))
    examples = [task.sample(task.stream("test", n), n, count) for n, count in sizes]
    cells = [Cell(one.length, one.length, (one,)) for one in examples]
    scores = evaluate.evaluate(FirstTwo(), task, TestSet(tuple(cells)), torch.device("cpu"))
    found = evaluate.pooled(task, scores)
    assert found.keys() == {"f1"}
    assert found["f1"] == Measure(pytest.approx(269 * f1_of(examples)), 269)
    means = [score.measures["f1"].mean for score in scores]
    assert abs(found["f1"].mean - sum(means) / len(means)) > 0.001
    scores[1] = replace(scores[1], finite=False)
    few = evaluate.pooled(task, scores)["f1"]
    assert few.mean == pytest.approx(f1_of([examples[0], examples[2]]))


def test_the_board_shows_what_the_whole_test_gave(measured):
    def whole(record, total, count):
        pooled = {"f1": MetricSum(total=total, count=count)}
        return record.model_copy(update={"test": record.test.model_copy(update={"pooled": pooled})})

    sums = {"f1": ([10, 0, 30, 0], [100, 100, 50, 0])}
    page = page_of(
        whole(measured(**sums), 75.0, 250),
        whole(measured(seed=1, **sums), 125.0, 250),
        whole(measured("rnn", **sums), 0.0, 0),
    )
    found = {row.model: row.results[0].metrics for row in page.boards[0].rows}
    assert found == {"regulargpt": {"f1": pytest.approx((0.3 + 0.5) / 2)}, "rnn": {}}


def test_a_run_keeps_it_and_training_again_compares_it(
    cli, own_place, all_here, write, tiny, tmp_path
):
    plugins = (tiny, write("f1.py", PLUGIN))
    asked = ("--model", "gru[width=8]", "--task", "first", "--protocol", "tiny", "--seeds", 1)
    told = ("--device", "cpu", "--json", "--results", tmp_path / "results")
    done = cli("run", *asked, *told, "--plugin", plugins[0], "--plugin", plugins[1])
    assert done.code == 0, done.err
    (record,) = done.data
    test = record["test"]
    assert test["pooled"].keys() == {"f1"}
    assert test["pooled"]["f1"]["count"] == sum(test["cells"]["metrics"]["f1"]["count"])
    (kept,) = Store(tmp_path / "results").files().values()
    assert retrained(kept, kept).mismatch is None
    half = MetricSum(total=kept.test.pooled["f1"].total / 2, count=kept.test.pooled["f1"].count)
    forged = kept.test.model_copy(update={"pooled": {"f1": half}})
    told = retrained(kept.model_copy(update={"test": forged}), kept).mismatch
    assert told == "trained again on the same kind of machine, it gives another f1"
