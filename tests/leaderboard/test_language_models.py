"""Language models on a board: perplexity, less is better, and no part in the score."""

from __future__ import annotations

import pytest
from formalbench.analysis.aggregate import selected_rate
from formalbench.analysis.build import View, build_page
from formalbench.analysis.perplexity import mean_perplexities, perplexities
from formalbench.contracts.cells import Sums
from formalbench_leaderboard.renderers import renderer

LENGTHS = (41, 51, 61, 71)


@pytest.fixture
def make_text(make_record):
    """Make records of a task for language models, with a perplexity at each of four lengths."""

    def made(model, perplexity, **options):
        record = make_record(model, "first:classify", accuracy=0.75, **options)
        cells = record.test.cells
        sums = Sums(total=tuple(100.0 * one for one in perplexity), count=(100,) * 4)
        metrics = {**cells.metrics, "perplexity": sums}
        cells = cells.model_copy(update={"metrics": metrics, "window": 1})
        return record.model_copy(update={"test": record.test.model_copy(update={"cells": cells})})

    return made


def page(records, *tasks):
    return build_page(records, View("test", tasks))


def test_perplexities_are_by_length_and_the_mean_over_seeds(make_text, make_record):
    first, second = make_text("lstm", (8, 9, 10, 12)), make_text("lstm", (10, 9, 12, 16), seed=1)
    assert perplexities(first) == dict(zip(LENGTHS, (8, 9, 10, 12), strict=True))
    means = tuple(zip(LENGTHS, (9, 9, 11, 14), strict=True))
    assert mean_perplexities([first, second]) == means
    assert perplexities(make_record()) == {}
    assert mean_perplexities([make_record()]) == ()
    assert perplexities(make_text("lstm", (8, 0, 10, 12))).keys() == {41, 61, 71}  # there is no 0


def test_they_stand_in_a_table_of_their_own_best_first(make_text):
    records = [make_text("lstm", (8, 9, 10, 12)), make_text("regulargpt", (7, 8, 9, 1200))]
    (board,) = page(records, "first").boards
    assert board.language_models == ("first",)
    assert [(row.rank, row.score) for row in board.rows] == [(None, None)] * 2
    lengths, rows = board.by_perplexity("first")
    assert lengths == LENGTHS
    assert [row.model for row, _ in rows] == ["lstm", "regulargpt"]
    text = renderer("table")(page(records, "first"))
    assert "first: perplexity by test length" in text
    told = [line.split() for line in text.splitlines() if line.startswith(("lstm", "regulargpt"))]
    assert told == [
        ["lstm", "8.00", "9.00", "10.00", "12.00", "1"],
        ["regulargpt", "7.00", "8.00", "9.00", "1,200.00", "1"],
    ]
    assert "(accuracy − chance)" not in text
    markdown = renderer("markdown")(page(records, "first"))
    (row,) = (
        line for line in markdown.splitlines() if line.startswith("| lstm") and "8.00" in line
    )
    assert [cell.strip() for cell in row.split("|")[1:7]] == [
        *("lstm", "8.00", "9.00", "10.00", "12.00", "1")
    ]
    assert "75.0" not in markdown


def test_other_tasks_keep_their_score(make_text, make_record):
    records = [make_record("lstm"), make_text("lstm", (8, 9, 10, 12))]
    (board,) = page(records, "parity", "first").boards
    (row,) = board.rows
    assert row.score == 1.0
    assert not any("chance is right" in note for note in board.notes)
    text = renderer("table")(page(records, "parity", "first"))
    assert "100.0" in text
    assert "8.00" in text


def test_a_rate_is_chosen_by_cross_entropy(make_text):
    records = [
        make_text("lstm", (8, 9, 10, 12), rate=0.001, validation=0.9, bits=3.0),
        make_text("lstm", (8, 9, 10, 12), rate=0.0003, validation=0.8, bits=2.0),
    ]
    assert selected_rate(records) == 0.0003
