"""`formalbench list` and `formalbench show`."""

import pytest

KINDS = (
    *("tasks", "models", "suites", "protocols", "objectives", "metrics", "probes"),
    *("optimisers", "schedules", "samplers", "penalties", "executors", "trackers", "plugins"),
)


@pytest.mark.parametrize("kind", [*KINDS, "reproductions", "tables"])
def test_a_piped_listing_fits_120_columns_and_loses_no_word(cli, kind):
    done = cli("list", kind)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.lines)) <= 120
    rows = cli("list", kind, "--json").data
    begins = [n for n, line in enumerate(done.lines) if line[1:2].strip() and n > 2]
    parts = [done.lines[n:end] for n, end in zip(begins, [*begins[1:], None], strict=True)]
    assert [part[0].split()[0] for part in parts] == [row["name"] for row in rows]
    for part, row in zip(parts, rows, strict=True):
        shown = " ".join(part).split()
        assert all(word in shown for word in row.get("summary", "").split() if len(word) < 20)


def test_a_model_whose_options_cannot_be_found_is_listed_all_the_same(cli, write):
    path = write(
        "mine.py",
        """
        from formalbench import ModelSpec, hookimpl

        @hookimpl
        def formalbench_models():
            yield ModelSpec("mine", 1, "a model", "a:b", "nowhere_at_all:Config")
        """,
    )
    done = cli("list", "models", "--json", "--plugin", path)
    assert done.code == 0
    assert [row["options"] for row in done.data if row["name"] == "mine"] == [{}]
    (line,) = done.err.splitlines()
    assert "the config of mine cannot be loaded" in line


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("task", "parity", ["parity:classify", "the probability of a 1"]),
        ("task", "d2", ["shortcut"]),
        ("task", "tomita-2:next-symbols", ["tomita-2:next-symbols"]),
        ("task", "anbncn", ["  counter; in C-RASP; not context-free ("]),
        ("task", "even-pairs", ["theorem  elman-recurrence: can at width 10 ("]),
        ("model", "lstm", ["mechanisms lstm-recurrence", "width"]),
        ("model", "regulargpt", ["depth grows with the length"]),
        ("protocol", "quick", ["must be multiples of", "quick"]),
        ("suite", "default", ["default", "parity"]),
    ],
)
def test_what_is_shown_as_text(cli, kind, name, said):
    """What it says as JSON, tests/golden compares."""
    shown = cli("show", kind, name).out
    assert all(text in shown for text in said)


def test_plugins_is_list_plugins(cli):
    assert cli("plugins").out == cli("list", "plugins").out
    assert cli("plugins", "--json").data == cli("list", "plugins", "--json").data


def test_a_language_from_a_file_says_so_too_and_others_say_nothing(cli, write):
    text = 'name: {}\nalphabet: "ab"\nregex: "{}"\nsplits: {{train: [1, 40], test: [41, 90]}}\n'
    few, two = (
        write(f"{name}.yaml", text.format(name, regex))
        for name, regex in (("few", "(ab)*"), ("two", "(ab)*|(ba)*"))
    )
    assert "few:classify has at most one member" in cli("show", "task", "few", "--plugin", few).err
    done = cli("show", "task", "two", "--json", "--plugin", two)
    assert (done.data["most_members_of_a_length"], done.err) == (2, "")
    for name in ("parity", "dyck-2", "cycle-navigation"):  # very many; no automaton; no language
        done = cli("show", "task", name, "--json")
        assert (done.data["most_members_of_a_length"], done.err) == (None, "")


def test_lengths_that_are_trained_and_tested_are_warned_of(cli, write):
    text = (
        'name: both\nalphabet: "ab"\nregex: "(a|b)a*"\nsplits: {train: [1, 40], test: [31, 90]}\n'
    )
    done = cli("show", "task", "both", "--json", "--plugin", write("both.yaml", text))
    assert done.err == "warning: both:classify trains and tests at lengths 31 to 40\n"
    assert done.data["overlap"] == [31, 40]
    assert cli("show", "task", "d2").err == ""


@pytest.mark.slow
def test_they_are_warned_of_where_they_count(cli, write, tiny, odd_models):
    text = 'name: both\nalphabet: "ab"\nregex: "(ab)*"\nsplits: {train: [1, 9], test: [8, 20]}\n'
    both = write("both.yaml", text)
    line = "warning: both:classify trains and tests at lengths 8 to 9\n"
    assert cli("check", both).err == line
    asked = ("run", "--model", "bag", "--task", "both,first", "--protocol", "tiny", "--seeds", 1)
    plugins = [word for path in (both, tiny, odd_models) for word in ("--plugin", path)]
    done = cli(*asked, "--device", "cpu", "--quiet", *plugins)
    assert (done.code, done.err) == (0, line)


def test_a_suite_of_tasks_with_options(cli, write):
    path = write("s.yaml", "name: coins\ntasks: ['parity[p=0.1]', 'parity:tag[p=0.9]']\n")
    facts = cli("show", "suite", "coins", "--json", "--plugin", path).data
    assert facts["tasks"] == ["parity[p=0.1]", "parity:tag[p=0.9]"]


def test_options_are_in_the_title(cli):
    for kind, name, full in (
        ("task", "parity[p=0.3]", "parity:classify[p=0.3]"),
        ("model", "lstm[width=8]", "lstm[width=8]"),
    ):
        assert cli("show", kind, name).lines[0].split() == ["name", full]
        assert cli("show", kind, name, "--json").data["title"] == full


def test_a_network_whose_options_cannot_be_is_one_line(refused):
    line = refused("show", "model", "transformer[width=10]")
    assert line == ("formalbench: transformer: width must be divisible by heads: 10 is not by 4")


DECODER = """
from torch import nn
from formalbench import ModelSpec, Traits, hookimpl

class Silent(nn.Module):
    traits = Traits(encoder_decoder=True)

    def __init__(self, task):
        super().__init__()
        self.said = nn.Embedding(task.outputs, task.outputs)

@hookimpl
def formalbench_models():
    yield ModelSpec("silent", 1, "says nothing yet", Silent, objectives=("decode",))
"""


def test_an_encoder_decoder_is_shown_with_a_task_that_it_can_do(cli, write, backwards):
    plugins = ("--plugin", write("silent.py", DECODER), "--plugin", backwards)
    facts = cli("show", "model", "silent", *plugins, "--json").data
    assert facts["objectives"] == ["decode"]
    assert facts["parameters"]["task"].endswith(":decode")
    assert facts["traits"]["encoder_decoder"] is True


def test_a_search_finds_what_else_people_call_it(cli):
    def found(*words):
        return {row["name"] for row in cli("list", "tasks", "--search", *words, "--json").data}

    assert {"group-s5", "group-a5"} <= found("state tracking") < found("")
    assert found("State-Tracking") == found("tracking state")
    assert found("parity") >= {"parity"}
    assert found("no such thing") == set()


def test_a_search_that_finds_nothing_says_so(cli):
    done = cli("list", "tasks", "--search", "zzz")
    assert (done.code, done.out) == (0, "")
    assert done.err == "formalbench: no tasks match --search 'zzz'\n"
    assert cli("list", "tasks", "--search", "zzz", "--json").data == []
    done = cli("list", "tasks", "--class", "finite", "--search", "zzz")
    assert done.err.endswith("no tasks match --class finite --search 'zzz'\n")


def test_a_search_goes_with_a_kind(cli):
    for arguments in ((), ("plugins",)):
        done = cli("list", *arguments, "--search", "group")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("formalbench: --search needs a kind")
