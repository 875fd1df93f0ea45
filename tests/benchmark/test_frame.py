"""Records as tidy tables: every number is in its place, for runs of any status."""

from pathlib import Path

import formalbench
import pytest
from formalbench.statistics.frame import CELL_COLUMNS, RUN_COLUMNS, cells_frame, runs_frame
from formalbench.store import Store
from made_records import make

RECORDS = Path(__file__).parents[2] / "docs" / "records.md"


def finished(correct, *, seed=0, rate=0.001, right=100, answers=None, **change):
    """Make the record of a run that was tested on two lengths of ten strings."""
    cells = {"length": [41, 50], "strings": [10, 10], "correct": correct, "answers": answers}
    test = {"metric": "accuracy", "fingerprint": "0" * 64, "seconds": 1, "cells": cells}
    return make(
        status="finished",
        test_id=f"{seed:015x}{int(rate == 0.001)}",
        seed=seed,
        learning_rate=rate,
        selected={"step": 7, "strings": 100, "correct": right},
        test={**test, "chance_constant": 0.5, "chance_length": 0.75},
        **change,
    )


def test_a_row_is_a_cell_and_one_that_did_not_finish_has_one_row():
    frame = cells_frame([finished([10, 5]), make(seed=3)])
    assert list(frame.columns) == [*RUN_COLUMNS, *CELL_COLUMNS]
    assert frame[["length", "strings", "correct", "accuracy"]].iloc[:2].values.tolist() == [
        [41, 10, 10.0, 1.0],
        [50, 10, 5.0, 0.5],
    ]
    last = frame.iloc[2]
    assert (last["status"], last["seed"]) == ("error", 3)
    assert frame["length"].isna().tolist() == [False, False, True]
    assert frame["accuracy"].isna().tolist() == [False, False, True]


def test_answers_count_where_a_string_has_several():
    frame = cells_frame([finished([30, 15], answers=[40, 60])])
    assert frame["accuracy"].tolist() == [0.75, 0.25]
    assert frame["mean_accuracy"].tolist() == [0.5, 0.5]
    assert frame["strings"].tolist() == [10, 10]


@pytest.mark.parametrize(("right", "learned"), [(100, True), (99, True), (98, False)])
def test_learned_is_what_validation_says(right, learned):
    frame = runs_frame([finished([5, 5], right=right)])
    assert frame["validation"].tolist() == [right / 100]
    assert frame["learned"].tolist() == [learned]


def test_what_was_not_trained_has_nothing_to_learn():
    exact = finished([10, 10], kind="exact", rate=None)
    exact = exact.model_copy(update={"selected": None})
    frame = runs_frame([exact, make(kind="learned"), finished([1, 1])])
    assert frame["learned"].tolist() == [True, False, True]


def test_the_rate_is_that_which_validation_selects_for_each_model_and_task():
    runs = [
        finished([10, 10], rate=0.001, right=60),
        finished([0, 0], rate=0.0003, right=90),
        finished([0, 0], rate=0.001, right=60, task="first:classify"),
    ]
    assert runs_frame(runs)["selected_rate"].tolist() == [False, True, True]


def test_no_records_give_a_table_without_rows(tmp_path):
    assert cells_frame([]).shape == (0, len(RUN_COLUMNS) + len(CELL_COLUMNS))
    assert formalbench.results(tmp_path).empty
    assert formalbench.results().empty  # the user's own, before the first run


def test_a_notebook_reads_a_folder(tmp_path):
    store = Store(tmp_path)
    for seed in (0, 1):
        store.write(finished([10, seed], seed=seed))
    frame = formalbench.results(tmp_path)
    table = frame.pivot_table("accuracy", "model", "length")
    assert table.loc["lstm"].to_dict() == {41: 1.0, 50: 0.05}
    assert frame.groupby("seed")["accuracy"].mean().tolist() == [0.5, 0.55]


def test_every_column_is_explained():
    page = RECORDS.read_text(encoding="utf-8").partition("## As a table")[2]
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    told = CELL_COLUMNS | RUN_COLUMNS
    assert lines == [f"| `{name}` | {text} |" for name, text in told.items()]
