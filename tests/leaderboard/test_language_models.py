"""Texts on a board: by perplexity or by BLEU, each with its direction, and no part in the score."""

from __future__ import annotations

import csv
import io
import json

from formalbench.statistics.aggregate import selected_rate
from formalbench.statistics.build import View, build_page
from formalbench.statistics.result import OF_LANGUAGE_MODELS, mean_by_place, perplexities
from formalbench_leaderboard.board.tables import by_place, ranking
from formalbench_leaderboard.renderers import renderer

LENGTHS = (41, 51, 61, 71)


def page(records, *tasks):
    return build_page(records, View("test", tasks))


def test_perplexities_are_by_length_and_the_mean_over_seeds(make_text, make_record):
    first, second = make_text("lstm", (8, 9, 10, 12)), make_text("lstm", (10, 9, 12, 16), seed=1)
    assert perplexities(first) == dict(zip(LENGTHS, (8, 9, 10, 12), strict=True))
    means = tuple(zip(map(str, LENGTHS), (9, 9, 11, 14), strict=True))
    assert mean_by_place([first, second], OF_LANGUAGE_MODELS) == means
    assert perplexities(make_record()) == {}
    assert mean_by_place([make_record()], OF_LANGUAGE_MODELS) == ()
    assert perplexities(make_text("lstm", (8, 0, 10, 12))).keys() == {41, 61, 71}  # there is no 0


def test_they_stand_in_a_table_of_their_own_best_first(make_text):
    records = [make_text("lstm", (8, 9, 10, 12)), make_text("regulargpt", (7, 8, 9, 1200))]
    (board,) = page(records, "words").boards
    assert board.otherwise == ("words",)
    assert [(row.rank, row.score) for row in board.rows] == [(None, None)] * 2
    shown = by_place(board, "words")
    assert shown.headings[2:6] == list(map(str, LENGTHS))
    assert [one.row.model for one in shown.items] == ["lstm", "regulargpt"]
    text = renderer("table")(page(records, "words"))
    assert "words: perplexity, less is better" in text
    told = [line.split() for line in text.splitlines() if line.startswith(("lstm", "regulargpt"))]
    assert told == [
        ["lstm", "9.64", "8.00", "9.00", "10.00", "12.00", "1"],
        ["regulargpt", "27.89", "7.00", "8.00", "9.00", "1,200.00", "1"],
    ]
    assert "(accuracy − chance)" not in text
    markdown = renderer("markdown")(page(records, "words"))
    (row,) = (
        line for line in markdown.splitlines() if line.startswith("| lstm") and "8.00" in line
    )
    assert [cell.strip() for cell in row.split("|")[1:8]] == [
        *("lstm", "9.64", "8.00", "9.00", "10.00", "12.00", "1")
    ]
    assert "75.0" not in markdown


def test_other_tasks_keep_their_score(make_text, make_record):
    records = [make_record("lstm"), make_text("lstm", (8, 9, 10, 12))]
    (board,) = page(records, "parity", "words").boards
    (row,) = board.rows
    assert row.score == 1.0
    assert not any("chance is right" in note for note in board.notes)
    text = renderer("table")(page(records, "parity", "words"))
    assert "100.0" in text
    assert "8.00" in text


def test_a_rate_is_chosen_by_cross_entropy(make_text):
    records = [
        make_text("lstm", (8, 9, 10, 12), rate=0.001, validation=0.9, bits=3.0),
        make_text("lstm", (8, 9, 10, 12), rate=0.0003, validation=0.8, bits=2.0),
    ]
    assert selected_rate(records) == 0.0003


def best_and_worst(make_text):
    worst = make_text("regulargpt", (7, 8, 9, 1200), seed=1)
    return [make_text("lstm", (8, 9, 10, 12)), make_text("regulargpt", (7, 8, 9, 1200)), worst]


def test_every_face_shows_perplexity_and_its_direction_and_no_accuracy(make_text):
    shown = page(best_and_worst(make_text), "words")
    for name in ("table", "markdown", "latex"):
        text = " ".join(renderer(name)(shown).split())
        assert "perplexity, less is better" in text, name
        assert "9.64" in text, name
        assert "75.0" not in text, name
    assert r"\textbf{9.64}" in renderer("latex")(shown)
    rows = list(csv.DictReader(io.StringIO(renderer("csv")(shown))))
    assert [(row["model"], row["measure"], row["better"], row["value"]) for row in rows] == [
        ("lstm", "perplexity", "less", "9.641141"),
        ("regulargpt", "perplexity", "less", "27.887074"),
    ]
    empty = ("mean", "max", "median", "low", "high", "scaled", "longest_99", "seed_accuracies")
    assert {row[name] for row in rows for name in empty} == {""}
    (board,) = json.loads(renderer("json")(shown))["measured"]
    assert board["facts"][0]["measure"]["less"]
    assert [row["results"][0]["shown"] for row in board["rows"]] == [9.641141, 27.887074]


def test_a_board_of_both_ranks_by_accuracy_and_has_a_column_for_each(make_text, make_record):
    records = [make_record("lstm"), *best_and_worst(make_text)]
    (board,) = page(records, "parity", "words").boards
    column = ranking(board).columns[-1]
    assert (column.heading, column.less) == ("words", True)
    assert column.below == {"measure": "perplexity, less is better"}
    assert [column.text(row) for row in board.rows] == ["9.64", "27.89"]


def test_translations_are_shown_by_bleu_part_by_part(make_record):
    record = make_record("lstm", "words:classify", accuracy=[60, 20])
    test = record.test
    cells = test.cells.model_copy(update={"group": ("short", "long"), "window": 1})
    told = {"cells": cells, "metric": "bleu"}
    record = record.model_copy(update={"test": test.model_copy(update=told)})
    (board,) = page([record], "words").boards
    assert (board.otherwise, board.rows[0].score) == (("words",), None)
    shown = by_place(board, "words")
    assert shown.headings[1:4] == ["BLEU, more is better", "long", "short"]
    assert shown.texts[0][1:4] == ["40.0", "20.0", "60.0"]
