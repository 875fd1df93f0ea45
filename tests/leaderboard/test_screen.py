"""The board on a screen: it comes last, it fits, and nothing of it is cut."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from formalbench.contracts.published import PublishedTable
from formalbench.statistics.build import View, build_page
from formalbench_leaderboard.renderers.terminal import Extent, print_page
from rich.cells import cell_len
from rich.console import Console

TASKS = ("parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3")
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


@pytest.mark.parametrize(
    ("width", "height", "tables"),
    [(80, 36, 2), (80, 50, 2), (130, 24, 1), (130, 30, 1), (130, 50, 1)],
)
def test_it_fits_the_screen_with_every_task_and_mine(page, width, height, tables):
    lines = shown(page, SCREEN, height, width)
    assert len(lines) < height  # and a prompt
    assert max(map(cell_len, lines)) <= width
    text = "\n".join(lines)
    assert text.count("(yours)") == tables + 1  # in the score, and not
    heads = [line.split() for line in lines if line.startswith("rank")]
    assert len(heads) == tables
    assert all(sum(task in head for head in heads) == 1 for task in TASKS)
    assert f" more {'rows' if height < 50 or width < 130 else 'notes'}, " in text
    assert {line.split()[1] for line in lines if line.startswith("!")} == {"rnn[width=18]"}
    assert len([line for line in lines if line.split()[:1] == ["chance"]]) == tables + 1
    best = [line for line in lines if "rnn[width=0]" in line.split()]
    assert "".join(best).count("99.0") == len(TASKS)


def is_ranked(line: str) -> bool:
    return re.match(r" *\d+–\d+ ", line) is not None


def test_more_lines_have_more_rows_and_a_pipe_has_all(page):
    rows = [
        sum(is_ranked(line) for line in shown(page, SCREEN, height)) for height in (24, 40, 50, 200)
    ]
    assert rows == sorted(rows)
    assert rows[0] < rows[2] < rows[3] == 2 * 20  # in two tables
    piped = shown(page, SCREEN, terminal=False)
    named = {row.model for row in page.boards[0].rows}
    assert named <= {word for line in piped for word in line.split()}


def test_a_low_screen_has_a_few_rows_all_the_same(page):
    lines = shown(page, SCREEN, height=5)
    shown_rows = [line.split()[1] for line in lines if is_ranked(line)]
    assert shown_rows == 2 * [
        "rnn[width=0]",
        "transformer[width=1]",
        "rnn[width=2]",
        "rnn[width=18]",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_so_many_lines_are_the_most_and_others_are_named(page, terminal):
    others = (("protocol slow", "formalbench leaderboard --protocol slow"),)
    wanted = replace(SCREEN, lines=40, others=others)
    lines = shown(page, wanted, 200, terminal=terminal)
    assert 30 < len(lines) <= 40
    assert lines[-3:] == ["Other boards:", "  ".join(["", *others[0]]), ""]
    assert len(shown(page, replace(wanted, lines=34), 200, terminal=terminal)) <= 34
    text = "\n".join(shown(page, replace(wanted, lines=24), 200, terminal=terminal))
    assert "Not in the score" not in text
    assert "1 task not in the score" in text


def test_no_name_is_broken(make_record):
    """Neither in a narrow terminal's tables nor in the notes."""
    name = "transformer[positions=relative, width=1024]"
    page = build_page(
        [make_record("transformer", options={"positions": "relative", "width": 1024})]
        + [make_record("rnn", f"{task}:classify") for task in TASKS],
        View("test", TASKS),
    )
    for width in (80, 120):
        for extent in (SCREEN, Extent()):
            lines = shown(page, extent, 100, width)
            assert max(map(cell_len, lines)) <= width
            rows = [line for line in lines if line.startswith(f"   –  {name}")]
            notes = [line for line in lines if line.startswith(f"! {name}")]
            assert rows
            assert notes
            text = "\n".join(lines)
            assert text.count("positions=relative") == text.count(name)
            assert all(task in text.split() for task in TASKS)


def test_the_board_comes_last_whatever_stands_beside_it(page):
    row = {"model": "RNN", "results": {"parity": {"max": 100.0, "mean": 50.0}}}
    keys = {"key": "a-paper", "source": "A paper", "citation": "A. Paper", "arxiv": "2305.03796"}
    paper = PublishedTable(**keys, rows=(row,), notes=())
    text = "\n".join(shown(replace(page, published=(paper,)), Extent()))
    assert 0 <= text.find("published: A paper") < text.find("test, protocol quick")
    few = "\n".join(shown(replace(page, published=(paper,)), SCREEN))
    assert "A paper" not in few
    assert "--all also prints: " in few


def test_of_two_boards_that_which_learned_most_is_nearest_to_the_prompt(make_record, protocol):
    more = {**protocol, "name": "more"}
    runs = [make_record(validation=0.5), make_record("rnn", protocol=more)]
    page = build_page(runs, View("test", ("parity",)))
    assert [board.protocol for board in page.boards] == ["more", "quick"]
    heads = [line for line in shown(page, SCREEN) if line.startswith("test, protocol")]
    assert [head.split()[2] for head in heads] == ["quick", "more"]


