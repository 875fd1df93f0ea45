"""Scoring a network: every string once, and a logit that is no number is an error."""

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Example, Traits, pad
from formalbench.contracts.objective import Measure, Metric
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import (
    MAX_LOGITS,
    MAX_PAIRS,
    MAX_SYMBOLS,
    WHOLE,
    CellScore,
    batches,
    evaluate,
    total,
)
from formalbench.objectives.classify import Classify
from formalbench_tasks import index
from formalbench_tasks.configs import FileConfig
from torch import nn

CPU = torch.device("cpu")
FIRST = index.FileFactory(index.FOLDER / "regular" / "first.yaml")(FileConfig())
TASK = Task("first", 1, FIRST, Classify())


class LastSymbol(nn.Module):
    """Answers the last symbol."""

    def forward(self, batch):
        last = batch.symbols[:, -1].double()
        return torch.stack((-last, last - 0.5), dim=1)


def cell(length, strings, targets):
    return Cell(length, length, (Example(np.array(strings), np.array(targets)),))


def test_counts_by_hand():
    cells = TestSet((cell(1, [[0], [1], [1]], [0, 1, 0]), cell(2, [[0, 1]], [1])))
    one, other = evaluate(LastSymbol(), TASK, cells, CPU)
    assert (one.first, one.last, one.strings, one.measures["accuracy"]) == (1, 1, 3, (2, 3))
    assert (other.first, other.last, other.strings) == (2, 2, 1)
    assert other.measures["accuracy"] == (1, 1)
    difference = torch.tensor([-0.5, 1.5, 1.5]).double()  # logit of 1 minus logit of 0
    right = torch.tensor([-1.0, 1.0, -1.0]).double()
    bits = torch.log2(1 + torch.exp(-right * difference)).mean().item()
    assert one.measures["cross-entropy"].mean == pytest.approx(bits)
    assert list(one.measures)[:2] == ["accuracy", "cross-entropy"]  # the primary one's first


@pytest.mark.parametrize(
    ("count", "length"), [(1, 0), (100_000, 0), (256, 500), (7, 1), (3, 10**6), (1000, 41)]
)
def test_batches_cover_every_string_once_and_fit(count, length):
    slices = list(batches(count, length))
    rows = [row for part in slices for row in range(part.start, part.stop)]
    assert rows == list(range(count))
    largest = max(part.stop - part.start for part in slices)
    assert largest == 1 or largest * max(length, 1) <= MAX_SYMBOLS
    assert largest == 1 or largest * max(length, 1) ** 2 <= MAX_PAIRS
    assert largest < WHOLE or largest % WHOLE == 0


def test_batches_of_large_vocabularies_are_smaller():
    sizes = {
        logits: max(part.stop - part.start for part in batches(64, 512, logits))
        for logits in (512 * 256, 512 * 50_000, 8192 * 50_000)
    }
    assert sizes == {512 * 256: 64, 512 * 50_000: MAX_LOGITS // (512 * 50_000), 8192 * 50_000: 1}


def test_the_logits_of_a_batch_are_those_that_its_task_asks_for(monkeypatch):
    seen = []

    class Watching(LastSymbol):
        def forward(self, batch):
            seen.append(len(batch.symbols))
            return super().forward(batch)

    monkeypatch.setattr("formalbench.evaluation.evaluate.MAX_LOGITS", 8)
    cells = TestSet((cell(2, np.zeros((10, 2), np.int64), np.zeros(10, np.int64)),))
    evaluate(Watching(), TASK, cells, CPU)  # two logits a string, however long it is
    assert seen == [4, 4, 2]


def test_batching_changes_no_count(monkeypatch):
    rng = np.random.default_rng(0)
    strings = rng.integers(0, 2, (50, 9))
    cells = TestSet((cell(9, strings, strings.sum(1) % 2),))
    (whole,) = evaluate(LastSymbol(), TASK, cells, CPU)
    monkeypatch.setattr("formalbench.evaluation.evaluate.MAX_SYMBOLS", 9 * 7)
    (parts,) = evaluate(LastSymbol(), TASK, cells, CPU)
    assert parts.measures["accuracy"] == whole.measures["accuracy"]
    bits = [score.measures["cross-entropy"] for score in (parts, whole)]
    assert bits[0].count == bits[1].count == 50
    assert bits[0].mean == pytest.approx(bits[1].mean)


def test_threads_change_no_result():
    rng = np.random.default_rng(0)
    sets = [cell(n, rng.integers(0, 2, (50, n)), rng.integers(0, 2, 50)) for n in (3, 9, 700)]
    cells = TestSet(tuple(sets))
    assert evaluate(LastSymbol(), TASK, cells, CPU, 3) == evaluate(LastSymbol(), TASK, cells, CPU)


def test_scores_add_up():
    measures = [{"accuracy": Measure(3, 4), "own": Measure(1, 2)}, {"accuracy": Measure(1, 2)}]
    whole = total([CellScore(4, 4, 4, measures[0]), CellScore(2, 9, 2, measures[1])])
    assert whole == CellScore(2, 9, 6, {"accuracy": Measure(4, 6)})


class Longest(Metric):
    """How long the longest string is that was answered right, as a metric of two measures."""

    name = "longest"

    def precompute(self, source, strings_BN):
        return np.full(len(strings_BN), strings_BN.shape[1])

    def measure(self, logits, example):
        hit_B = logits.argmax(1) == example.targets
        return example.known["longest"][hit_B].bincount(minlength=int(example.length) + 1)

    def finish(self, state):
        return {
            "longest": Measure(float(np.flatnonzero(state).max(initial=0)), 1),
            "right-at-all": Measure(float(state.sum()), 1),
        }


def test_a_metric_of_a_stranger():
    task = Task("first", 1, FIRST, Classify(), extra_metrics=(Longest(),))
    examples = [task.examples(np.eye(n, dtype=np.int64)) for n in (3, 5, 4)]
    (score,) = evaluate(LastSymbol(), task, TestSet((Cell(3, 5, tuple(examples)),)), CPU)
    # the first symbol is the last one but where the 1 stands at either end
    assert score.measures["longest"] == (5, 1)
    assert score.measures["right-at-all"] == (1 + 3 + 2, 1)
    assert score.measures["accuracy"] == (6, 12)


def test_a_metric_that_measures_what_another_does_is_an_error():
    class Twice(Longest):
        def finish(self, state):
            return {"accuracy": Measure(1.0, 1)}

    task = Task("first", 1, FIRST, Classify(), extra_metrics=(Twice(),))
    cell = Cell(3, 3, (task.sample(task.stream("test"), 3, 4),))
    with pytest.raises(ValueError, match="measures accuracy, as another metric does"):
        evaluate(LastSymbol(), task, TestSet((cell,)), torch.device("cpu"))


class Unequal(nn.Module):
    """Answers the last symbol of each string, padded or not, and notes what it was given."""

    def __init__(self, padding):
        super().__init__()
        self.traits = Traits(padding=padding)
        self.given = []

    def forward(self, batch):
        self.given.append((tuple(batch.symbols.shape), batch.lengths is not None))
        lengths_B = batch.lengths
        if lengths_B is None:
            lengths_B = torch.full((len(batch.symbols),), batch.symbols.shape[1])
        last = batch.symbols.gather(1, lengths_B[:, None] - 1).double()
        return torch.cat((-last, last - 0.5), dim=1)


def test_only_who_takes_padding_is_given_padding():
    parts = [TASK.examples(np.random.default_rng(n).integers(0, 2, (n, n))) for n in (3, 5)]
    alone = evaluate(Unequal(False), TASK, TestSet((Cell(3, 5, tuple(parts)),)), CPU)
    padded = TestSet((Cell(3, 5, (pad(parts, TASK.layout),)),))
    one, other = Unequal(True), Unequal(False)
    assert evaluate(one, TASK, padded, CPU) == evaluate(other, TASK, padded, CPU) == alone
    assert one.given == [((8, 5), True)]
    assert other.given == [((3, 3), False), ((5, 5), False)]
