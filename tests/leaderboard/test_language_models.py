"""Texts on a board: by perplexity or by BLEU, each with its direction, and no part in the score."""

from __future__ import annotations

from formalbench.statistics.aggregate import selected_rate
from formalbench.statistics.result import OF_LANGUAGE_MODELS, mean_by_place, perplexities

LENGTHS = (41, 51, 61, 71)


def test_perplexities_are_by_length_and_the_mean_over_seeds(make_text, make_record):
    first, second = make_text("lstm", (8, 9, 10, 12)), make_text("lstm", (10, 9, 12, 16), seed=1)
    assert perplexities(first) == dict(zip(LENGTHS, (8, 9, 10, 12), strict=True))
    means = tuple(zip(map(str, LENGTHS), (9, 9, 11, 14), strict=True))
    assert mean_by_place([first, second], OF_LANGUAGE_MODELS) == means
    assert perplexities(make_record()) == {}
    assert mean_by_place([make_record()], OF_LANGUAGE_MODELS) == ()
    assert perplexities(make_text("lstm", (8, 0, 10, 12))).keys() == {41, 61, 71}  # there is no 0


def test_a_rate_is_chosen_by_cross_entropy(make_text):
    records = [
        make_text("lstm", (8, 9, 10, 12), rate=0.001, validation=0.9, bits=3.0),
        make_text("lstm", (8, 9, 10, 12), rate=0.0003, validation=0.8, bits=2.0),
    ]
    assert selected_rate(records) == 0.0003


