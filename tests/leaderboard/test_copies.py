"""Invented seeds with the numbers of another run."""

from __future__ import annotations

from formalbench_leaderboard.publishing.record_check import copied


def with_sums(record, *sums):
    """Return a record with a cross-entropy of its own at each length."""
    cells = record.test.cells
    entropy = cells.metrics["cross-entropy"].model_copy(update={"total": sums})
    changed = cells.model_copy(update={"metrics": {"cross-entropy": entropy}})
    return record.model_copy(update={"test": record.test.model_copy(update={"cells": changed})})


def test_the_numbers_of_another_seed_are_found(make_record):
    one, other = (with_sums(make_record(seed=seed), 11, 12, 13, 0) for seed in (0, 1))
    (line,) = copied([one, other])
    assert line == (
        "regulargpt on parity, quick, seed 1 at learning rate 0.001: its numbers are those of "
        "regulargpt on parity, quick, seed 0 at learning rate 0.001: one is a copy"
    )
    assert copied([one, with_sums(other, 11, 12, 14, 0)]) == []
    assert copied([one, one]) == []


def test_networks_that_answer_everything_right_or_alike_may_agree(make_record):
    for sums in ((0, 0, 0, 0), (5, 5, 5, 5)):
        assert copied([with_sums(make_record(seed=seed), *sums) for seed in (0, 1)]) == []


def test_the_weights_of_another_seed_are_found(make_record):
    same = [make_record(seed=seed).model_copy(update={"weights": "a" * 64}) for seed in (0, 1)]
    assert len(copied(same)) == 1
