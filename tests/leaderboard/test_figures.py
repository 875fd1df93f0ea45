"""The figures: what they show, that they are drawn alike, and what `check` makes of them."""

import itertools
import math
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from built_records import timed
from formalbench.contracts.errors import RequestError
from formalbench.documents.charts import COLOURS, colour_of, luminance, on_dark
from formalbench.statistics.build import View, build_page
from formalbench_leaderboard.board.tables import TRAINING_COST, training_seconds
from formalbench_leaderboard.charts import board_charts, length_charts
from formalbench_leaderboard.page.curves import cost_charts
from formalbench_leaderboard.renderers.render import (
    render,
    stale_files,
)

LENGTH = Path("leaderboard/figures/default-quick-length.svg")
COST = Path("leaderboard/figures/default-quick-cost.svg")


def board_of(records, tasks=("parity",)):
    (board,) = build_page(records, View("test", tasks)).boards
    return board


@pytest.fixture
def board(many_records):
    records = [
        timed(record, 10.0 * (1 + record.seed) * len(record.model.name)) for record in many_records
    ]
    return board_of(records, ("parity", "first", "tomita-3"))


def test_the_files_of_a_changed_protocol_have_plain_names(many_records):
    changed = [
        record.model_copy(
            update={"protocol": record.protocol.model_copy(update={"changed": {"steps": 100}})}
        )
        for record in many_records
    ]
    names = [one.name for one in board_charts.drawings(board_of(changed), "default")]
    assert names == ["default-quick-steps=100-length"]


def test_a_figure_is_drawn_alike_each_time_and_says_by_what(board):
    kinds = board_charts.drawings(board, "default")
    assert [one.name for one in kinds] == [LENGTH.stem, COST.stem]
    for one in kinds:
        first = board_charts.rendered(one, "svg")
        assert first == board_charts.rendered(one, "svg")
        version = metadata.version("vl-convert-python")
        assert first.endswith(f"<!-- vl-convert {version} --></svg>".encode())
        assert board_charts.rendered(one, "png").startswith(b"\x89PNG")


def test_a_line_is_the_mean_over_the_seeds_and_chance_where_a_run_failed(make_record):
    records = [
        make_record(accuracy=[100, 90, 80, 70]),
        make_record(accuracy=[100, 70, 60, 50], seed=1),
        make_record(seed=2, status="diverged"),
    ]
    board = board_of(records)
    (row,), (facts,) = board.rows, board.facts
    line = length_charts.line(row.results[0], facts)
    assert line.length.tolist() == [41, 51, 61, 71]
    assert line.mean == pytest.approx([250 / 3, 70, 190 / 3, 170 / 3])
    assert line.low.max() <= 50
    assert line.high[0] == 100
    (failed,) = board_of([records[2]]).rows
    assert length_charts.line(failed.results[0], facts) is None


def test_what_no_seed_learned_has_no_line(make_record):
    records = [make_record("rnn", validation=0.7, seed=seed) for seed in range(2)]
    records += [make_record("lstm", validation=share, seed=n) for n, share in enumerate((0.7, 1.0))]
    board = board_of(records)
    lines = {
        row.model: length_charts.line(row.results[0], board.facts_of("parity"))
        for row in board.rows
    }
    assert lines["rnn"] is None
    assert lines["lstm"] is not None


def test_lengths_that_tell_nothing_are_left_out_of_a_line(make_record):
    """Chance is 1 at 41 and 61: a run that failed is at 25 % at the others, not at the mean."""
    runs = [make_record(accuracy=[100, 90, 100, 70], chance=0.625), make_record(seed=1)]
    runs[1] = runs[1].model_copy(update={"status": "diverged", "test": None})
    view = View("test", ("parity",), chances=lambda record: (1.0, 0.25, 1.0, 0.25))
    (board,) = build_page(runs, view).boards
    line = length_charts.line(board.rows[0].results[0], board.facts[0])
    assert line.length.tolist() == [51, 71]
    assert line.mean == pytest.approx([(90 + 25) / 2, (70 + 25) / 2])
    assert board_charts.rendered(board_charts.drawings(board, "default")[0], "svg")


def test_neighbouring_lengths_share_a_point_where_there_are_many(make_record):
    correct = [index % 101 for index in range(460)]
    board = board_of([make_record(accuracy=correct)])
    line = length_charts.line(board.rows[0].results[0], board.facts[0])
    assert len(line.mean) == 46
    assert np.mean(line.mean) == pytest.approx(np.mean(correct))
    assert line.length[0] == pytest.approx(41 + 10 * 4.5)


def test_models_with_a_score_are_drawn_before_the_best_of_other_families(make_record):
    scored = ["gru", "gru[width=32]"]
    records = [make_record(model, task=task) for model in scored for task in ("parity", "first")]
    records += [make_record(f"model-{n}") for n in range(length_charts.MOST_LINES)]
    (board,) = build_page(records, View("test", ("parity", "first"))).boards
    first, *_ = length_charts.length_chart(board).panels
    drawn = [series.label.partition(" (")[0] for series in first.lines if series.label]
    assert len(drawn) == length_charts.MOST_LINES
    assert set(scored) < set(drawn)


def test_a_test_of_one_cell_has_no_curve(make_record):
    board = board_of([make_record(accuracy=[90])])
    assert length_charts.panels(board) == []
    assert board_charts.drawings(board, "default") == []


def test_page_and_figure_say_the_same_cost(make_record):
    """A mean of means: three seeds on one task, one seed on another."""
    tasks = ("parity", "first")
    records = [timed(make_record(seed=seed), 10.0 + 20.0 * seed) for seed in range(3)]
    records.append(timed(make_record(task="first:classify"), 50.0))
    page = build_page(records, View("test", tasks))
    (board,) = page.boards
    (point,) = board_charts.points(board, lambda row: training_seconds(row, board))
    chart = cost_charts(board)[0]
    assert [one.text for one in chart.points] == [
        "regulargpt: score 100.0 (31.1 … 100.0), training time 40 s"
    ]
    assert point.x == (30.0 + 50.0) / 2
    assert TRAINING_COST in chart.x.label
    assert TRAINING_COST in board_charts.COST_CAPTION


def test_a_row_that_is_not_timed_on_every_task_has_no_cost(make_record):
    tasks = ("parity", "first")
    records = [timed(make_record(), 10.0), make_record(task="first:classify")]
    page = build_page(records, View("test", tasks))
    (row,) = page.boards[0].rows
    assert row.score is not None
    assert training_seconds(row, page.boards[0]) is None
    assert cost_charts(page.boards[0])[0].points == []
    assert training_seconds(row, board_of(records, ())) is None  # of no task


def test_no_two_models_look_alike():
    names = [*COLOURS, *(f"a[chunk={chunk}]" for chunk in range(2, 9))]
    names += [f"model-{number}" for number in range(12)]
    assert len({(colour_of(name), length_charts.style_of(name)) for name in names}) == len(names)
    assert len({colour_of(name) for name in names}) == len(names)


def test_the_colours_of_the_table_are_told_apart():
    parts = [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in COLOURS.values()]
    assert min(math.dist(a, b) for a, b in itertools.combinations(parts, 2)) > 30


def test_every_colour_is_seen_on_paper():
    names = [*COLOURS, *(f"model-{number}" for number in range(200))]
    names += [f"lstm[width={number}]" for number in range(50)]
    for name in names:
        assert re.fullmatch("#[0-9a-f]{6}", colour_of(name))
        assert luminance(colour_of(name)) < 0.28  # of white it is 1
        dark = on_dark(colour_of(name))
        assert luminance(dark) > 0.23  # of black it is 0
        assert dark == colour_of(name) or luminance(colour_of(name)) < 0.25


def test_a_model_looks_alike_whoever_is_beside_it(make_record):
    """A name that the table lacks, too: the name alone decides."""
    names = ("gru", "a-plugin", "zz")
    alone = {name: board_of([make_record(name)]) for name in names}
    beside = board_of([make_record(name) for name in names])
    for name, board in alone.items():
        (one,), (other,) = (
            [line for line in length_charts.length_chart(on).panels[0].lines
             if line.label.partition(" ")[0] == name]
            for on in (board, beside)
        )  # fmt: skip
        assert one.color == other.color == colour_of(name)
        assert one.style == other.style


def test_a_task_without_a_line_has_no_panel(make_record):
    records = [make_record("rnn"), make_record("rnn", "first:classify", validation=0.7)]
    board = board_of(records, ("parity", "first"))
    assert len(board.facts) == 2
    assert [panel.title for panel in length_charts.length_chart(board).panels] == ["parity"]
    nothing = board_of(records[1:], ("first",))
    assert board_charts.drawings(nothing, "default") == []


@pytest.mark.slow
def test_figures_are_compared_byte_for_byte_with_the_library(clone, host, monkeypatch):
    assert stale_files(clone, host) == []
    assert (clone / COST).is_file()
    drawn = (clone / LENGTH).read_bytes()
    (clone / LENGTH).write_bytes(drawn.replace(b"<!-- vl-convert ", b"<!-- vl-convert 0"))
    assert stale_files(clone, host) == [LENGTH]
    assert render(clone, host) == [LENGTH]
    assert (clone / LENGTH).read_bytes() == drawn
    (clone / LENGTH).unlink()
    assert stale_files(clone, host) == [LENGTH]

    def lacking(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(board_charts.metadata, "version", lacking)
    page = clone / "leaderboard" / "README.md"
    page.write_bytes(b"mine")
    for function in (render, stale_files):
        with pytest.raises(RequestError, match="figures need altair"):
            function(clone, host)
    assert page.read_bytes() == b"mine"


@pytest.mark.slow
def test_a_figure_left_over_is_removed(clone, host):
    old = clone / LENGTH.with_name("gone-quick-length.svg")
    old.write_bytes((clone / LENGTH).read_bytes())
    assert stale_files(clone, host) == [old.relative_to(clone)]
    render(clone, host)
    assert not old.exists()


@pytest.mark.slow
def test_the_library_is_not_loaded_for_other_faces():
    code = (
        "import sys, formalbench_leaderboard.renderers.render, formalbench_leaderboard.session\n"
        "sys.exit('altair' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_scores_stand_against_parameters_and_state(make_record):
    """Models that differ in their width alone share a colour and a line."""
    records = [
        sized(make_record("gru", accuracy=0.9), 100),
        sized(make_record("gru", accuracy=1.0, options={"width": 256}), 400),
        sized(make_record("rnn", accuracy=0.7), 50),
    ]
    board = board_of(records, ("parity",))
    kept = {"gru": 128, "gru[width=256]": 256, "rnn": 128}
    found = board_charts.drawings(board, "default", lambda row: kept[row.model])
    (drawing,) = [one for one in found if one.name.endswith("-size")]
    score, parameters, state = drawing.draw().panels
    assert score.yticks == {0: "rnn", 1: "gru", 2: "gru[width=256]"}
    assert [one.x for one in parameters.lines] == [[400], [100], [50]]
    assert [one.x for one in state.lines] == [[256], [128], [128]]
    assert [one.y for one in state.lines] == [[2], [1], [0]]
    assert len({one.color for one in state.lines}) == 2
    without = board_charts.drawings(board, "default")
    assert not [one for one in without if one.name.endswith("-size")]


def sized(record, parameters):
    return record.model_copy(
        update={"model": record.model.model_copy(update={"parameters": parameters})}
    )
