"""Two models beside each other."""

import io
import json
from pathlib import Path

import formalbench
import pytest
from built_records import build_runs, write_all
from formalbench.contracts.record import Record
from formalbench.statistics.build import View, build_page
from formalbench.statistics.comparison import BoardRow, Comparison, compare
from formalbench.store import Store
from formalbench_leaderboard.board.comparison import (
    SettingDifference,
    print_comparison,
)
from rich.console import Console

SIX = [f"task-{n}" for n in range(6)]


def places(records: list[Record]) -> list[BoardRow]:
    page = build_page(records, View("test", ()))
    return [BoardRow(board, row) for board in page.boards for row in board.rows]


def of_two(records: list[Record], a: str, b: str) -> Comparison:
    found = {place.row.model: place for place in places(records)}
    return compare(found[a], found[b])


@pytest.fixture
def many_tasks() -> list[Record]:
    """One model that is perfect on six tasks, one that is not, one that never learned."""
    models = {"good": {}, "poor": {"accuracy": 0.6}, "lost": {"accuracy": 0.5, "validation": 0.5}}
    return build_runs(models, SIX, 3)


def test_several_tasks_part_what_one_with_three_seeds_does_not(many_tasks):
    found = of_two(many_tasks, "good", "poor")
    assert [on.task for on in found.tasks] == SIX
    assert {on.accuracy.better for on in found.tasks} == {None}
    assert all(on.accuracy.low < on.accuracy.value < on.accuracy.high for on in found.tasks)
    assert found.mean is not None
    assert found.mean.scaled.better == "a"
    assert 0.0 < found.mean.scaled.low < found.mean.scaled.value == pytest.approx(0.8)


def test_with_more_rows_on_the_board_more_is_needed(make_record):
    """Which is better is decided among all rows of the board, by Holm's method."""
    levels = {"a": (91, 93, 92), "b": (80, 74, 80)} | {f"c{n}": (70, 90, 80) for n in range(12)}
    records = [
        make_record(
            model, f"task-{n}:classify", accuracy=[right] * 4, seed=seed, fingerprint="0" * 64
        )
        for model, level in levels.items()
        for n in range(4)
        for seed, right in enumerate(level)
    ]
    alone = [record for record in records if record.model.name in "ab"]
    for runs, better in ((alone, "a"), (records, None)):
        found = of_two(runs, "a", "b").mean
        assert found is not None
        assert found.scaled.better == better


def test_the_other_way_round_it_is_the_other_way_round(many_tasks):
    one, other = of_two(many_tasks, "good", "poor"), of_two(many_tasks, "poor", "good")
    assert one.mean
    assert other.mean
    assert (other.mean.scaled.low, other.mean.scaled.high) == pytest.approx(
        (-one.mean.scaled.high, -one.mean.scaled.low)
    )
    assert other.mean.scaled.better == "b"


def test_equals_are_not_parted():
    models = {"one": {"accuracy": 0.8}, "other": {"accuracy": 0.8}}
    found = of_two(build_runs(models, SIX, 5), "one", "other")
    assert {on.accuracy.value for on in found.tasks} == {0.0}
    assert found.mean
    assert found.mean.scaled.low < 0.0 < found.mean.scaled.high
    assert {found.mean.scaled.better, *(on.accuracy.better for on in found.tasks)} == {None}


def test_a_lead_on_one_of_many_tasks_must_hold_for_all_at_once(make_record):
    """With this many seeds one task alone would separate them; with several tasks the difference
    must be larger."""

    def lead(tasks: int) -> Comparison:
        records = [
            make_record(
                model,
                f"task-{n}:classify",
                accuracy=(0.69 if n == 0 and model == "one" else 0.6) - seed % 4 / 50,
                seed=seed,
                fingerprint=64 * "0",
            )
            for model in ("one", "other")
            for n in range(tasks)
            for seed in range(12)
        ]
        return of_two(records, "one", "other")

    alone, among = lead(1).tasks[0].accuracy, lead(40).tasks[0].accuracy
    assert (alone.low, alone.high) == (among.low, among.high)
    assert (alone.better, among.better) == ("a", None)


def test_only_what_both_were_tested_on_alike_is_compared(make_record, protocol):
    shorter = {**protocol, "name": "other", "test": {"lengths": 2, "strings": 100}}
    records = [make_record("a"), make_record("b", "first:classify"), make_record("b")]
    records += [make_record("c", protocol=shorter, accuracy=[100, 100])]
    by_model = {place.row.model: place for place in places(records)}
    found = compare(by_model["a"], by_model["b"])
    assert [on.task for on in found.tasks] == ["parity"]
    assert found.notes == ("only B has: first.",)
    apart = compare(by_model["a"], by_model["c"])
    assert (apart.tasks, apart.mean) == ((), None)
    assert apart.notes == ("not tested on the same strings: parity.",)


# The command.


@pytest.fixture
def results(repository: Path, make_record) -> Path:
    """Return a folder of records of four models, one of them under another protocol."""
    folder, tasks = repository / "mine", ("parity", "first")
    protocol = make_record().protocol.model_dump(mode="json")
    slow = {"protocol": {**protocol, "name": "slow"}}
    models = {"rnn": {"accuracy": 0.8}, "lstm": {}, "transformer": slow}
    chunked = {"lstm": {"options": {"chunk": 3}}}
    write_all(Store(folder), [*build_runs(models, tasks, 3), *build_runs(chunked, tasks, 3)])
    return folder


@pytest.fixture
def comparing(invoke, results):
    """Compare models of the folder; with ``--json``, return the comparisons."""

    def run(*words):
        done = invoke(*words, "--results", results, command="compare")
        if "--json" not in words:
            return done
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["comparisons"]

    return run


def test_the_command_shows_a_table_and_a_verdict(comparing):
    done = comparing("lstm", "rnn")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert "A: lstm, protocol quick (version 1)" in lines
    assert any(line.split()[:4] == ["parity", "100.0", "80.0", "+20.0"] for line in lines)
    assert "A, lstm, is significantly better over these 2 tasks." in done.output


def test_three_models_are_compared_pair_by_pair(comparing):
    names = ("lstm", "rnn", "lstm[chunk=3]")
    pairs = [(one["a"]["model"], one["b"]["model"]) for one in comparing(*names, "--json")]
    assert pairs == [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    assert comparing(*names).output.count("A − B: difference of the test accuracies") == 1


@pytest.mark.parametrize("level", [0.99, 0.94, 0.9, 0.6])
def test_the_command_and_the_board_agree(invoke, repository, make_record, level):
    """A row that is better by one measure ranks above by the other, independent of other rows."""
    levels = {"rnn": level, "lstm": 1.0, "gru": 0.8, "transformer": 0.6}
    for model, accuracy in levels.items():
        for task in ("parity:classify", "first:classify"):
            for seed in range(4):
                share = accuracy - 0.08 * (model == "transformer") * (seed % 2)
                record = make_record(model, task, accuracy=share, seed=seed)
                Store(repository / "mine").write(record)
    shared = ("--results", repository / "mine", "--task", "parity,first")
    done = invoke(*shared, "--format", "json")
    rows = {row["model"]: row for row in json.loads(done.stdout)["measured"][0]["rows"]}
    for other in ("rnn", "transformer"):
        done = invoke("lstm", other, *shared, "--json", command="compare")
        better = json.loads(done.stdout)["comparisons"][0]["mean"]["better"]
        assert (better == "a") == (other in rows["lstm"]["better_than"]), other
    assert (rows["lstm"]["rank"], rows["lstm"]["rank_high"]) == (1, 1 if level < 0.92 else 2)
    assert rows["gru"]["rank"] is None  # its plugin is not installed


def test_nothing_is_wider_than_a_terminal_and_nothing_is_cut(make_record):
    names = [f"model-{n}[{'x' * 40}=1.0, {'y' * 40}=2]" for n in (1, 2)]
    task = f"{'word-' * 12}end"
    found = of_two([make_record(name, task, accuracy=0.9) for name in names], *names)
    target = io.StringIO()
    setting = SettingDifference("option " + "long " * 20, "a" * 90, "b" * 90)
    print_comparison(found, [setting], Console(file=target, width=80, color_system=None))
    lines = target.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    joined = "".join(target.getvalue().split())
    assert joined.count("a") >= 90
    low, high = (
        f"{100 * end:.1f}" for end in (found.tasks[0].accuracy.low, found.tasks[0].accuracy.high)
    )
    assert any(f"{low} … {high}" in line for line in lines)


def test_the_command_as_data(comparing):
    (found,) = comparing("lstm", "lstm[chunk=3]", "--task", "parity", "--json")
    assert found["a"] == {"model": "lstm", "protocol": "quick", "version": 1}
    assert found["b"]["model"] == "lstm[chunk=3]"
    assert [(line["task"], line["difference"], line["better"]) for line in found["tasks"]] == [
        ("parity", 0.0, None)
    ]
    assert found["differs"] == [{"name": "option chunk", "a": "2", "b": "3"}]
    assert found["mean"]["tasks"] == 1
    (found,) = comparing("lstm", "transformer", "--protocol", "quick,slow", "--json")
    assert found["b"]["protocol"] == "slow"
    protocols = {"name": "protocol", "a": "quick (version 1)", "b": "slow (version 1)"}
    assert protocols in found["differs"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lstm", "rn"), "unknown model among the records 'rn': did you mean rnn?"),
        (("lstm", "lstm"), "A and B are both lstm: name two models, or two protocols"),
        (
            ("lstm", "rnn", "--task", "parit"),
            "unknown task among the records 'parit': did you mean parity?",
        ),
        (("lstm", "rnn", "--suite", "defalt"), "unknown suite 'defalt': did you mean default?"),
        (("lstm", "rnn", "--suite", "default", "--task", "parity"), "use only one of them"),
        (("lstm",), "compare lstm: name two models or more"),
        (
            ("lstm", "rnn", "transformer", "--protocol", "quick,slow"),
            "two protocols need exactly two models",
        ),
        (
            ("lstm", "rnn", "--protocol", "slow"),
            "unknown protocol among the records of lstm 'slow': known: quick",
        ),
        (("lstm", "rnn", "--protocol", "a,b,c"), "at most two, one for each model"),
        (
            ("lstm", "transformer"),
            "lstm and transformer have no protocol in common: --protocol 'quick,slow'",
        ),
    ],
)
def test_a_slip_of_the_pen_is_one_line(comparing, arguments, said):
    done = comparing(*arguments)
    assert said in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2


def test_models_of_one_name_are_told_apart_by_their_source(comparing, results, make_record):
    Store(results).write(make_record("lstm", distribution="elsewhere"))
    told = str(comparing("lstm", "rnn").exception)
    assert "did you mean lstm (elsewhere) or lstm (formalbench)?" in told
    done = comparing("lstm (formalbench)", "lstm (elsewhere)")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "a\x1b[31mb", "x" * 200, "a\u202eb"])
def test_hostile_names_are_text(comparing, results, make_record, name):
    Store(results).write(make_record("rnn", hardware=name))
    Store(results).write(make_record(name, hardware=name))
    done = comparing(name, "rnn")
    assert done.exit_code == 0, done.output
    assert not {"\x1b", "\u202e"} & set(done.output)


def test_from_python_it_is_a_table_with_the_same_numbers(comparing, results, host, monkeypatch):
    monkeypatch.setattr("formalbench.api.load_plugins", lambda plugins: host)
    frame = formalbench.compare("rnn", "lstm", results=results)
    (told,) = comparing("rnn", "lstm", "--json")
    assert frame["task"].tolist() == [on["task"] for on in told["tasks"]]
    names = {"a": "rnn", "b": "lstm", None: None}
    assert frame["better"].tolist() == [names[on["better"]] for on in told["tasks"]]
    for column, key in (("a", "a"), ("b", "b"), ("difference", "difference")):
        assert frame[column].tolist() == pytest.approx([on[key] for on in told["tasks"]], abs=1e-6)
    longer = formalbench.compare("rnn[chunk=2]", "lstm", results=results, tasks=["parity:classify"])
    assert longer["task"].tolist() == ["parity"]
    once = {"tasks": iter(frame["task"]), "protocols": iter(frame["protocol"].unique())}
    assert frame.equals(formalbench.compare("rnn", "lstm", results=results, **once))
    with pytest.raises(formalbench.RequestError, match="did you mean lstm"):
        formalbench.compare("rnn", "lsmt", results=results)
    with pytest.raises(formalbench.RequestError, match="did you mean parity"):
        formalbench.compare("rnn", "lstm", results=results, tasks=["parrity"])
    with pytest.raises(formalbench.RequestError, match=r"write \['parity'\]"):
        formalbench.compare("rnn", "lstm", results=results, tasks="parity")


def test_from_python_it_says_which_tasks_are_not_compared(results, host, make_record, monkeypatch):
    monkeypatch.setattr("formalbench.api.load_plugins", lambda plugins: host)
    Store(results).write(make_record("newcomer", strings=50))
    with pytest.raises(formalbench.RequestError, match="not tested on the same strings: parity"):
        formalbench.compare("rnn", "newcomer", results=results)
    Store(results).write(make_record("newcomer", "first:classify"))
    frame = formalbench.compare("rnn", "newcomer", results=results)
    assert frame["task"].tolist() == ["first"]
    assert frame.attrs["notes"] == ["not tested on the same strings: parity."]
