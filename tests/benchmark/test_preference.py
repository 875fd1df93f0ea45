"""Which checkpoint of a run is preferred to which."""

import pytest
import torch
from formalbench.contracts.objective import Measure
from formalbench.evaluation.evaluate import CellScore
from formalbench.training import validation
from formalbench.training.run_state import Checkpoint
from small_training import CPU, protocol
from torch import nn


@pytest.mark.parametrize(
    ("new", "old", "better"),
    [
        ((0.5, -0.9), None, True),
        ((0.6, -0.9), (0.5, -0.1), True),
        ((0.5, -0.1), (0.6, -0.9), False),
        ((0.5, -0.1), (0.5, -0.2), True),
        ((0.5, -0.2), (0.5, -0.2), False),  # of equals the earlier one stays
    ],
)
def test_what_is_preferred_is_selected(new, old, better):
    made = [None if p is None else Checkpoint(1, 10, {}, p, torch.zeros(0)) for p in (new, old)]
    assert made[0].better_than(made[1]) is better


def test_what_cannot_be_told_is_preferred_to_nothing_else(host, monkeypatch):
    used, task = protocol(), host.task("first")

    def preference(nan):
        measures = {"accuracy": Measure(0, 0 if nan else 10), "cross-entropy": Measure(5, 10)}
        scores = [CellScore(1, 1, 10, measures)]
        monkeypatch.setattr(validation, "evaluate", lambda *_, **__: scores)
        return validation.Validator(task, used, CPU).score(nn.Identity(), 1, torch.zeros(1))

    assert not preference(nan=True).better_than(preference(nan=False))
    assert preference(nan=False).better_than(preference(nan=True))


def test_cells_count_the_same_where_a_checkpoint_is_chosen():
    few = CellScore(1, 1, 2, {"a": Measure(1, 2), "b": Measure(1, 4)})
    many = CellScore(9, 9, 2, {"a": Measure(2, 2), "b": Measure(90, 100)})
    found = validation.each_cell_alike([few, many])
    assert found["a"] == Measure(3, 4)
    assert found["b"].mean == pytest.approx((0.25 + 0.9) / 2)
