"""The board in a terminal: one's own rows, models and tasks asked for, and one screen."""

import io
import json
import re
import shlex
from dataclasses import replace

import pytest
from built_records import write_all
from formalbench.contracts.errors import RequestError
from formalbench.statistics.build import View, build_page
from formalbench.store import Store, default_results
from formalbench_leaderboard.renderers.terminal import TableDetail, print_page
from rich.cells import cell_len
from rich.console import Console


@pytest.fixture
def published(repository, make_runs):
    """Publish three models on three tasks."""
    store = Store(repository / "leaderboard" / "results")
    for model, accuracy in (("regulargpt", 0.99), ("rnn", 0.9), ("lstm", 0.6)):
        for task in ("parity", "first", "tomita-3"):
            write_all(store, make_runs(model, task=f"{task}:classify", accuracy=accuracy))
    return store.path


@pytest.fixture
def mine(tmp_path, make_runs):
    """Run a model of one's own on one task of the suite, and on one that is not in it."""
    store = Store(tmp_path / "mine")
    for task in ("parity", "even-pairs"):
        write_all(store, make_runs("newcomer", task=f"{task}:classify", accuracy=0.95))
    return store.path


def lines_of(shown, name):
    return [line.split() for line in shown.stdout.splitlines() if name in line.split()]


def test_mine_stands_among_the_published_rows_on_the_tasks_i_ran(invoke, published, mine):
    shown = invoke("--results", mine)
    assert shown.exit_code == 0, shown.output
    row, own = lines_of(shown, "newcomer")
    assert row[:4] == ["1–4", "newcomer", "(yours)", "90.0"]  # scaled on parity
    assert row[4:] == ["0/1/0", "(0", "%)", "–", "95.0"]  # its profile and horizon, and parity
    assert own == ["newcomer", "(yours)", "95.0"]  # on a task of the user, without other rows
    assert [len(lines_of(shown, model)) for model in ("regulargpt", "rnn", "lstm")] == [1, 1, 1]
    assert "first" not in shown.stdout
    assert "tomita" not in shown.stdout
    assert "even-" in shown.stdout.partition("Not in the score:")[2]
    assert [line[1:] for line in lines_of(shown, "chance")] == [["50.0"], ["50.0"]]


def test_my_rows_are_marked_under_the_protocol_that_i_ran_alone(
    invoke, published, tmp_path, make_runs, protocol
):
    """Rows of one name on another board, or without any folder named."""
    store = Store(tmp_path / "mine")
    write_all(store, make_runs("rnn", task="parity:classify", protocol=protocol | {"name": "own"}))
    write_all(store, make_runs("newcomer", task="parity:classify"))
    for protocol_name, marked in (("own", True), ("quick", False)):
        shown = invoke("--results", store.path, "--protocol", protocol_name)
        rows = [line for line in lines_of(shown, "rnn") if line[0] != "!"]
        assert ["(yours)" in row for row in rows] == [marked]
    (other,) = lines_of(invoke("--results", store.path), "protocol")[-1:]
    assert " ".join(other).startswith("protocol own (version 1), 1 row of yours formalbench")


def test_my_own_results_are_marked_too(invoke, published, make_runs):
    write_all(Store(default_results()), make_runs("newcomer", task="parity:classify"))
    (row, *_) = lines_of(invoke(), "newcomer")
    assert row[2] == "(yours)"


def test_of_some_models_there_are_only_their_boards_and_notes(invoke, published, mine):
    shown = invoke("--results", mine, "--suite", "default", "--model", "newcomer")
    assert "newcomer has no score" in " ".join(shown.stdout.split())
    assert not lines_of(shown, "rnn")


def test_a_class_without_a_task_is_told(invoke, published):
    shown = invoke("--class", "finite")
    assert isinstance(shown.exception, RequestError)
    assert str(shown.exception).startswith("--class finite: no task of the suite")


def test_a_row_that_lacks_tasks_of_a_suite_asked_for_has_no_rank(invoke, published, mine):
    shown = invoke("--results", mine, "--suite", "default")
    lines = lines_of(shown, "newcomer")
    # No rank, and a note that says why; and the task that is not in the suite.
    assert {line[0] for line in lines} == {"–", "!", "newcomer"}
    assert lines[0][2] == "(yours)"
    # The published rows keep their ranks, although the user has not run all of the suite.
    assert [lines_of(shown, model)[0][0] for model in ("regulargpt", "rnn", "lstm")] == [
        "1–2",
        "1–2",
        "3",
    ]


def test_filters_find_published_records_that_the_user_has_none_of(
    invoke, published, mine, make_runs, protocol
):
    write_all(Store(published), make_runs("rnn", protocol=protocol | {"name": "long"}))
    task = invoke("--results", mine, "--task", "tomita-3")
    assert len(lines_of(task, "regulargpt")) == 1
    other = invoke("--results", mine, "--protocol", "long")
    assert lines_of(other, "rnn")[0][-1] == "100.0"
    assert not lines_of(invoke("--results", mine), "long")


def test_what_is_written_for_others_has_the_named_folders_alone(invoke, published, mine):
    shown = invoke("--results", mine, "--suite", "default", "--format", "json")
    (board,) = json.loads(shown.stdout)["measured"]
    assert {row["model"]: row["rank"] for row in board["rows"]} == {"newcomer": None}


def test_own_tasks_alone_are_a_table_of_what_there_is(invoke, published, tmp_path, make_runs):
    store = Store(tmp_path / "own-task")
    write_all(store, make_runs("newcomer", task="even-pairs:classify", accuracy=0.95))
    shown = invoke("--results", store.path)
    row, note = lines_of(shown, "newcomer")
    assert note[0] == "!"
    assert row == ["–", "newcomer", "(yours)", "90.0", "0/1/0", "(0", "%)", "–", "95.0"]
    assert "! newcomer has no rank, because no other row has a score" in shown.stdout
    assert "rnn" not in shown.stdout


def test_protocols_are_never_mixed(invoke, published, tmp_path, make_record, protocol):
    store = Store(tmp_path / "other")
    store.write(make_record("newcomer", protocol={**protocol, "name": "mine"}))
    shown = invoke("--results", store.path)
    assert "newcomer" in shown.stdout
    assert "rnn" not in shown.stdout


def test_what_is_published_already_is_not_marked(invoke, published):
    assert "(yours)" not in invoke("--results", published).stdout


def test_models_keep_the_rank_they_have_among_all(invoke, published):
    every = json.loads(invoke("--results", published, "--format", "json").stdout)
    some = json.loads(
        invoke("--results", published, "--format", "json", "--model", "rnn,lstm").stdout
    )
    ranks = {row["model"]: row["rank"] for row in every["measured"][0]["rows"]}
    shown = {row["model"]: row["rank"] for row in some["measured"][0]["rows"]}
    assert shown == {name: ranks[name] for name in ("rnn", "lstm")}


def test_tasks_are_ranked_by(invoke, published):
    told = invoke("--results", published, "--format", "json", "--task", "first,parity:classify")
    (board,) = json.loads(told.stdout)["measured"]
    assert (board["tasks"], board["other_tasks"]) == (["first", "parity"], [])
    assert {len(row["results"]) for row in board["rows"]} == {2}


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--model", "rn", "unknown model among the records 'rn': did you mean rnn"),
        ("--task", "party", "unknown task among the records 'party': did you mean parity"),
        ("--task", ",", "--task ',' names nothing"),
    ],
)
def test_what_is_not_there_is_one_line(invoke, published, option, value, told):
    error = invoke("--results", published, option, value).exception
    assert isinstance(error, RequestError)
    assert told in str(error)


def test_options_in_a_name_keep_their_commas(invoke, published, make_record):
    Store(published).write(make_record("lstm", options={"chunk": 3, "width": 8}))
    name = "lstm[chunk=3, width=8]"
    told = invoke("--results", published, "--format", "json", "--model", f"rnn,{name}")
    (board,) = json.loads(told.stdout)["measured"]
    assert {row["model"] for row in board["rows"]} == {"rnn", name}


def test_a_pipe_has_the_rows_of_one_screen_and_all_has_the_rest(invoke, repository, make_record):
    store = Store(repository / "leaderboard" / "results")
    for number in range(20):
        store.write(make_record(f"model-{number:02}", "parity:classify"))
    first, every = invoke("--task", "parity"), invoke("--task", "parity", "--all")
    for shown, tables in ((first, 1), (every, 2)):  # the ranking, and the table of the task
        named = [line for line in shown.stdout.splitlines() if "model-" in line]
        assert len([line for line in named if not line.startswith("!")]) == 20 * tables
        noted = len([line for line in named if "has a single seed" in line])
        assert noted == (20 if shown is every else 0)
        assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "IQM" not in first.stdout
    assert "IQM" in every.stdout
    assert "--all also prints: 40 more notes, " in first.stdout


def test_versions_of_a_protocol_are_named_once_by_the_command_that_shows_them_all(
    invoke, published, make_runs, protocol
):
    for version in (1, 2, 3):
        used = protocol | {"version": version}
        write_all(Store(published), make_runs("rnn", task="parity:classify", protocol=used))
    (other,) = [line for line in invoke().stdout.splitlines() if line.startswith("  protocol ")]
    name, command = re.split("  +", other.strip())
    assert name == "protocol quick (versions 1, 2, 3)"
    heads = [line for line in invoke(*shlex.split(command)[2:]).stdout.splitlines()
             if "suite default" in line]  # fmt: skip
    assert len(heads) == 3


def test_a_protocol_under_which_no_task_of_the_suite_was_run_shows_what_was(
    invoke, published, make_runs, protocol
):
    used = protocol | {"name": "long"}
    write_all(Store(published), make_runs("rnn", task="dyck-2-3:generate", protocol=used))
    shown = invoke("--protocol", "long")
    assert "None of the suite's tasks has a result under this protocol." in shown.stdout
    row, *others = lines_of(
        shown, "rnn"
    )  # one table; notes stay, because they also tell of failures
    assert row[0] == "rnn"
    assert any(line[:4] == ["!", "rnn", "has", "no"] for line in others), others
    assert {line[0] for line in others} == {"!"}  # one table; notes also tell of failures
    assert "–" not in row
    assert " first " not in shown.stdout.partition("!")[0]


def test_one_board_on_one_screen_and_the_commands_that_show_the_others(
    invoke, published, make_runs, make_record, protocol
):
    for number in range(60):
        Store(published).write(make_record(f"model-{number:02}", "parity:classify"))
    write_all(
        Store(published),
        make_runs("rnn", task="parity:classify", protocol=protocol | {"name": "other"}),
    )
    shown = invoke().stdout.splitlines()
    assert len(shown) <= 60
    assert sum("model-" in line for line in shown) > 20
    boards = [line for line in shown if line.startswith("formalbench leaderboard: ")]
    (other,) = [line for line in shown if line.startswith("  protocol ")]
    name, command = re.split("  +", other.strip())
    assert name.removeprefix("protocol ") not in boards[0]
    words = shlex.split(command)
    assert words[:2] == ["formalbench", "leaderboard"]
    (head,) = [line for line in invoke(*words[2:]).stdout.splitlines() if "suite default" in line]
    assert name in head
    whole = invoke("--suite", "default").stdout
    assert whole.count("formalbench leaderboard: suite default") == 2
    assert len({f"model-{number:02}" for number in range(60)} - set(whole.split())) == 0
    narrowed = invoke("--task", "parity").stdout.splitlines()
    assert len(narrowed) <= 60
    assert "formalbench leaderboard --task parity --protocol" in narrowed[-2]


TASKS = ("parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3")
SCREEN = TableDetail(everything=False, mark="yours", other_tasks=True)


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
