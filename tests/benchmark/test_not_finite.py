"""A test that diverges at some lengths keeps the others: chance counts there, with a mark."""

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Example
from formalbench.contracts.record import Record
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import NotFiniteError, blank, evaluate
from formalbench.host import PluginHost
from formalbench.running.run_record import cells_of
from formalbench.statistics.frame import cells_frame
from formalbench.store import Store, weights_path
from pydantic import ValidationError


class Bursts(torch.nn.Module):
    """Says the last symbol, and is not finite on strings of length `at`, but for one of them."""

    def __init__(self, at, value):
        super().__init__()
        self.at, self.value = at, value

    def forward(self, batch):
        logits = torch.nn.functional.one_hot(batch.symbols[:, -1].long(), 2).float()
        if batch.symbols.shape[1] == self.at:
            logits[-1, 0] = self.value
        return logits


@pytest.fixture
def run(run, mine):
    """Run a model that is infinite from some length on."""

    def bursting(longest, *more):
        burst = (
            f"if batch.symbols.shape[1] >= {longest}: return self.embed(batch.symbols).mean(1) / 0"
        )
        plugins = [mine("bursting", called=burst)]
        return run("--seeds", 1, "--json", *more, model="bursting", plugins=plugins)

    return bursting


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_each_finite_cell_is_scored_and_the_others_are_marked(value, threads):
    task = PluginHost.load().task("first")
    strings = np.random.default_rng(0).integers(0, 2, (300, 9))
    cells = TestSet(
        tuple(Cell(n, n, (Example(strings[:, :n], strings[:, n - 1]),)) for n in (3, 5, 9))
    )
    network, cpu = Bursts(5, value), torch.device("cpu")
    with pytest.raises(NotFiniteError, match="a logit at length 5 is not finite"):
        evaluate(network, task, cells, cpu, threads)
    scores = evaluate(network, task, cells, cpu, threads, by_cell=True)
    assert [score.finite for score in scores] == [True, False, True]
    assert [score.measures["accuracy"].count for score in scores] == [300] * 3
    assert [scores[at].measures["accuracy"].total for at in (0, 2)] == [300, 300]
    assert scores[1].measures == evaluate(blank(task), task, cells, cpu)[1].measures
    found = cells_of(scores, "accuracy", lambda: (0.5, 0.7, 0.9))
    assert (found.correct, found.not_finite) == ((300, 210, 300), (1,))
    entropy = found.metrics["cross-entropy"]
    assert (entropy.count, entropy.total[1]) == ((300, 0, 300), 0)
    assert np.isnan(found.means_of("cross-entropy")[1])


def test_a_run_keeps_the_lengths_at_which_it_is_finite(run, results):
    done = run(200)
    assert done.code == 1
    (record,) = Store(results).records()
    length = record.test.cells.length
    assert record.status == "diverged"
    assert record.training.ended != "stopped"
    assert record.test.cells.not_finite == tuple(i for i, n in enumerate(length) if n >= 200)
    assert 0 < len(record.test.cells.not_finite) <= len(length)
    first = record.test.cells.not_finite[0]
    assert record.message == (
        f"a logit is not finite at {len(length) - first} of {len(length)} test lengths, "
        f"the first is {length[first]}"
    )
    half = [strings / 2 for strings in record.test.cells.strings]
    assert list(record.test.cells.correct[first:]) == half[first:]
    frame = cells_frame([record])
    assert frame.finite.tolist() == [n < 200 for n in length]
    assert frame.accuracy[first:].tolist() == [0.5] * (len(length) - first)
    assert weights_path(Store(results).path_of(record)).is_file()


def test_it_is_not_done_again_and_its_weights_are_tested_again(run, results):
    run(400)
    (first,) = Store(results).records()
    again = run(400)
    assert again.code == 1
    assert again.data[0]["date"] == first.date
    fewer = run(400, "--set", "protocol.test.lengths=2")
    assert (fewer.code, fewer.data[0]["weights"]) == (1, first.weights)
    assert fewer.data[0]["training"] == first.model_dump(mode="json")["training"]


def test_a_run_that_is_finite_everywhere_says_nothing_of_it(run, results):
    assert run(10**6).code == 0
    (record,) = Store(results).records()
    assert (record.status, record.test.cells.not_finite) == ("finished", None)
    assert "not_finite" not in record.to_json()


def test_a_mark_names_a_cell_and_agrees_with_the_status(run, results):
    run(200)
    (record,) = Store(results).records()
    data = record.model_dump(mode="json")
    for change in (
        {"status": "finished", "message": ""},
        {"status": "timeout"},
        {"test": None, "weights": "a" * 64},
    ):
        with pytest.raises(ValidationError):
            Record.model_validate(data | change)
    for marked in ((), (3, 2), (1, 1), (-1,), (10**6,)):
        data["test"]["cells"]["not_finite"] = marked
        with pytest.raises(ValidationError, match="not_finite"):
            Record.model_validate(data)
