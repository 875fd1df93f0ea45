"""Which records are done again: drawn, of every kind, and alike for one seed."""

from __future__ import annotations

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.store import Store
from formalbench_leaderboard.publishing.audit import draw_sample, parse_count


def test_a_seed_draws_as_many_as_are_asked_for(results):
    files = list(Store(results).files())
    learned = [file for file in files if "exact" not in str(file)]
    for wanted in (0, 1, 3, len(learned), 1000):
        assert len(draw_sample(files, 7, wanted, 0)) == min(wanted, len(learned))
    assert draw_sample(files, 7, None, 0) == set(learned)
    draws = {draw_sample(reversed(files), seed, 2, 0) for seed in range(40)}
    assert draw_sample(files, 3, 2, 0) in draws
    assert set().union(*draws) == set(learned)


def test_what_is_no_record_is_not_drawn(results):
    bad = results / "bad.json"
    bad.write_text("{}")
    assert draw_sample([bad], 1, None, None) == frozenset()


@pytest.mark.parametrize("text", ["", "-1", "1.5", "some", "9" * 20, "٣"])
def test_a_number_or_all(text):
    assert (parse_count("3", "--retrain"), parse_count("all", "--retrain")) == (3, None)
    with pytest.raises(RequestError, match=r"--retrain .*: a number of records, or all"):
        parse_count(text, "--retrain")
