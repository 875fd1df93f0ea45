"""The board on a screen: it comes last, it fits, and nothing of it is cut."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from formalbench.analysis.build import View, build_page
from formalbench.contracts.published import PublishedTable
from formalbench_leaderboard.renderers.terminal import Extent, print_page
from rich.cells import cell_len
from rich.console import Console

TASKS = ("parity", "first", "even-pairs", "cycle-navigation", "d2", "tomita-3")
SCREEN = Extent(everything=False, mark="yours", other_tasks=True)


@pytest.fixture
def page(make_record):
    """Make a board of twenty models, the last of which is mine and has a task of its own."""
    records = [
        make_record(name, f"{task}:classify", options=options, accuracy=(99 - number) / 100)
        for number in range(20)
        for name, options in [("transformer" if number % 2 else "rnn", {"width": number})]
        for task in TASKS
    ]
    records.append(make_record("rnn", "own:classify", options={"width": 18}, accuracy=0.5))
    new = {record.test_id for record in records if record.model.options == {"width": 18}}
    view = View("test", TASKS, new=new)
    return build_page(records, view)


def shown(page, extent, height=24, width=80, *, terminal=True):
    target = io.StringIO()
    console = Console(
        file=target, width=width, height=height, force_terminal=terminal, color_system=None
    )
    print_page(page, console, extent)
    return target.getvalue().splitlines()


def words_of(runs):
    lines = shown(build_page(runs, View("test", ("parity",))), SCREEN)
    return {word for line in lines for word in line.split()}


@pytest.mark.parametrize("height", [24, 30, 50])
@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_the_screen_with_every_task_and_mine(page, height, width):
    lines = shown(page, SCREEN, height, width)
    assert len(lines) < height  # and a prompt
    assert max(map(cell_len, lines)) <= width
    text = "\n".join(lines)
    assert text.count("(yours)") == 2  # in the score, and not
    head = "".join(lines[1:3])
    assert all(part in head for part in ("parity", "first", "even-", "cycle-", "d2", "tomita-3"))
    assert f" more {'rows' if height < 50 else 'notes'}, " in text
    assert {line.split()[1] for line in lines if line.startswith("!")} == {"rnn[width=18]"}
    assert len([line for line in lines if line.split()[:1] == ["chance"]]) == 2
    best = next(line for line in lines if line.split()[:1] == ["1"])
    assert best.count("99.0") == len(TASKS)


def test_more_lines_have_more_rows_and_a_pipe_has_all(page):
    rows = [
        sum(line.split()[:1] == ["1"] for line in shown(page, SCREEN, height))
        for height in (24, 30, 50, 200)
    ]
    assert rows[0] >= 2
    assert rows == sorted(rows)
    assert rows[0] < rows[2] < rows[3] == 20
    piped = shown(page, SCREEN, terminal=False)
    named = {row.model for row in page.boards[0].rows}
    assert named <= {word for line in piped for word in line.split()}


def test_a_low_screen_has_a_few_rows_all_the_same(page):
    lines = shown(page, SCREEN, height=5)
    assert sum(line.split()[:1] == ["1"] for line in lines) == 1 + 1  # the first, and mine


def test_the_board_comes_last_whatever_stands_beside_it(page):
    row = {"model": "RNN", "results": {"parity": {"max": 100.0, "mean": 50.0}}}
    keys = {"key": "a-paper", "source": "A paper", "citation": "A. Paper", "arxiv": "2305.03796"}
    paper = PublishedTable(**keys, rows=(row,), notes=())
    text = "\n".join(shown(replace(page, published=(paper,)), Extent()))
    assert 0 <= text.find("published: A paper") < text.find("test, protocol quick")
    few = "\n".join(shown(replace(page, published=(paper,)), SCREEN))
    assert "A paper" not in few
    assert "--all: " in few


def test_of_two_boards_that_which_learned_most_is_nearest_to_the_prompt(make_record, protocol):
    more = {**protocol, "name": "more"}
    runs = [make_record(validation=0.5), make_record("rnn", protocol=more)]
    page = build_page(runs, View("test", ("parity",)))
    assert [board.protocol for board in page.boards] == ["more", "quick"]
    heads = [line for line in shown(page, SCREEN) if line.startswith("test, protocol")]
    assert [head.split()[2] for head in heads] == ["quick", "more"]


def test_marks_are_explained_where_they_stand(make_record):
    runs = [make_record("lstm"), make_record("rnn", accuracy=0.9)]
    assert not {"°:", "[n]:", "!:"} & words_of(runs)
    marked = [
        *(make_record("lstm", seed=seed, validation=share) for seed, share in ((0, 1.0), (1, 0.5))),
        make_record("rnn", validation=0.5),
        make_record("gru", status="diverged"),
    ]
    assert {"°:", "[n]:", "!:"} <= words_of(marked)
