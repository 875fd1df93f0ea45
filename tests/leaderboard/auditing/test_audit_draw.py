"""Which records are done again: drawn, of every kind, and alike for one seed."""

from __future__ import annotations

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.store import Store
from formalbench_leaderboard.publishing.audit import drawn, how_many


def test_a_seed_draws_as_many_as_are_asked_for(results):
    files = list(Store(results).files())
    learned = [file for file in files if "exact" not in str(file)]
    for wanted in (0, 1, 3, len(learned), 1000):
        assert len(drawn(files, 7, wanted, 0)) == min(wanted, len(learned))
    assert drawn(files, 7, None, 0) == set(learned)
    draws = {drawn(reversed(files), seed, 2, 0) for seed in range(40)}
    assert drawn(files, 3, 2, 0) in draws
    assert set().union(*draws) == set(learned)


def test_what_is_no_record_is_not_drawn(results):
    bad = results / "bad.json"
    bad.write_text("{}")
    assert drawn([bad], 1, None, None) == frozenset()


@pytest.mark.parametrize("text", ["", "-1", "1.5", "some", "9" * 20, "٣"])
def test_a_number_or_all(text):
    assert (how_many("3", "--retrain"), how_many("all", "--retrain")) == (3, None)
    with pytest.raises(RequestError, match=r"--retrain .*: a number of records, or all"):
        how_many(text, "--retrain")
