"""`formalbench list` and `formalbench show`."""

import pytest


def test_listings_name_everything(cli):
    names = {row["name"] for row in cli("list", "tasks", "--json").data}
    assert {"parity", "first", "d2", "tomita-3", "modular-arithmetic"} <= names
    row = next(r for r in cli("list", "tasks", "--json").data if r["name"] == "parity")
    assert row["objectives"] == ["classify", "tag", "next-symbols"]
    assert (row["train"], row["test"]) == ([1, 40], [41, 500])
    assert row["options"]["p"]["default"] == 0.5
    assert {r["name"] for r in cli("list", "protocols", "--json").data} >= {"quick", "standard"}
    assert {r["name"] for r in cli("list", "suites", "--json").data} >= {"default", "all"}


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


def test_what_can_be_named_besides_tasks_and_models(cli):
    def listed(kind):
        return {row["name"]: row for row in cli("list", kind, "--json").data}

    assert {"classify", "tag", "next-symbols", "generate"} <= set(listed("objectives"))
    assert {"serial", "local"} <= set(listed("executors"))
    adam = listed("optimisers")["adam"]
    assert adam["options"]["betas"]["default"] == [0.9, 0.999]
    assert adam["plugin"] == "formalbench"
    assert "betas, eps, weight_decay" in cli("list", "optimisers").out


def test_a_model_that_names_no_objectives_does_all_there_are(cli):
    rows = {row["name"]: row for row in cli("list", "models", "--json").data}
    every = [row["name"] for row in cli("list", "objectives", "--json").data]
    assert rows["lstm"]["objectives"] == every
    assert rows["exact-parity"]["objectives"] == ["classify"]
    # Those answered step by step are left out once it is known what the network is.
    shown = cli("show", "model", "lstm", "--json").data["objectives"]
    assert shown == [name for name in every if name not in ("decode", "translate")]


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


def test_plugins_is_list_plugins(cli):
    assert cli("plugins").out == cli("list", "plugins").out
    assert cli("plugins", "--json").data == cli("list", "plugins", "--json").data


def test_a_task(cli):
    facts = cli("show", "task", "parity", "--json").data
    assert facts["name"] == "parity:classify"
    assert facts["alphabet"] == ["0", "1"]
    assert facts["chance"] == {"constant": 0.5, "length_only": 0.5}
    assert (facts["train"], facts["test"]) == ([1, 40], [41, 500])
    for row in facts["examples"]:
        assert row["target"] == row["string"].count("1") % 2
    text = cli("show", "task", "parity").out
    assert "parity:classify" in text
    assert "the probability of a 1" in text


def test_the_chance_of_bounded_depth_counts_odd_lengths(cli):
    facts = cli("show", "task", "d2", "--json").data  # 51 … 100, half of them odd
    assert facts["chance"]["length_only"] == pytest.approx(0.75)
    assert facts["chance"]["constant"] == pytest.approx(0.75)


def test_how_far_counting_gets_is_beside_chance(cli):
    facts = cli("show", "task", "d2", "--json").data
    assert set(facts["chance"]) == {"constant", "length_only"}
    assert facts["shortcut"] > 0.9 > facts["chance"]["length_only"]
    assert "shortcut" in cli("show", "task", "d2").out
    assert cli("show", "task", "dyck-2-3", "--json").data["shortcut"] < 0.75
    for name in ("dyck-2-9", "d2:tag", "parity[p=0.3]"):  # not measured
        assert cli("show", "task", name, "--json").data["shortcut"] is None


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("tomita-1", 1),
        ("tomita-2:next-symbols", 1),
        ("d1", 1),
        ("dyck-1-1", 1),
        ("tomita-7", 166_751),
    ],
)
def test_languages_with_one_member_a_length_say_so(cli, name, most):
    done = cli("show", "task", name, "--json")
    assert done.data["most_members_of_a_length"] == most
    assert ("at most one member per length" in done.err) == (most == 1)


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


def test_other_objectives(cli):
    facts = cli("show", "task", "tomita-2:next-symbols", "--json").data
    assert facts["metric"] == "string-accuracy"
    assert facts["chance"]["length_only"] == 1.0
    assert cli("show", "task", "tomita-2:next-symbols").code == 0
    assert cli("show", "task", "parity:tag").code == 0


def test_a_model(cli, odd_models):
    facts = cli("show", "model", "bag", "--json", "--plugin", odd_models).data
    assert facts["parameters"] == {"task": "parity:classify", "count": 2 * 8 + 8 * 2 + 2}
    assert facts["options"]["width"]["minimum"] == 1
    assert "width" in cli("show", "model", "bag", "--plugin", odd_models).out


def test_options_and_traits_of_a_model(cli):
    facts = cli("show", "model", "transformer-logn[width=32]", "--json").data
    assert facts["options"]["log_length"] == {
        "default": True,
        "help": "multiply logits by ln n for n attended positions",
        "choices": [],
        "minimum": None,
        "maximum": None,
    }
    assert facts["options"]["norm"]["choices"] == ["pre", "post", "none"]
    assert facts["options"]["width"]["default"] == 64
    assert (facts["traits"]["width"], facts["traits"]["depth"]) == (32, 2)
    assert facts["traits"]["causal"] is True
    assert facts["traits"]["padding"] is True
    small, usual = (
        cli("show", "model", name, "--json").data["parameters"]["count"]
        for name in ("transformer-logn[width=32]", "transformer-logn")
    )
    assert small < usual
    assert "depth grows with the length" in cli("show", "model", "regulargpt").out


def test_a_task_with_options(cli):
    facts = cli("show", "task", "parity:tag[p=0.01]", "--json").data
    assert facts["name"] == "parity:tag"
    assert sum(row["string"].count("1") for row in facts["examples"]) <= 3


def test_a_suite_of_tasks_with_options(cli, refused, write):
    path = write("s.yaml", "name: coins\ntasks: ['parity[p=0.1]', 'parity:tag[p=0.9]']\n")
    facts = cli("show", "suite", "coins", "--json", "--plugin", path).data
    assert facts["tasks"] == ["parity[p=0.1]", "parity:tag[p=0.9]"]
    path = write("bad.yaml", "name: coins\ntasks: ['parity[q=0.1]']\n")
    assert "unknown option of parity 'q'" in refused("show", "suite", "coins", "--plugin", path)


def test_a_network_whose_options_cannot_be_is_one_line(refused):
    line = refused("show", "model", "transformer[width=10]")
    assert line == ("formalbench: transformer: width must be divisible by heads: 10 is not by 4")
    assert "did you mean width" in refused("show", "model", "transformer[wdith=8]")


def test_an_exact_model_is_shown_with_its_own_task(cli):
    facts = cli("show", "model", "yao-soft-2-3", "--json").data
    assert facts["parameters"]["task"] == "dyck-2-3:next-symbols"
    assert facts["parameters"]["count"] > 0


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


def test_a_protocol_says_what_must_be_multiples_of_what(cli):
    shown = cli("show", "protocol", "quick").out
    assert "must be multiples of evaluate_every" in " ".join(shown.split())


def test_a_protocol_and_a_suite(cli):
    assert cli("show", "protocol", "quick", "--json").data["steps"] == 2000
    assert cli("show", "suite", "default", "--json").data["tasks"][0] == "parity"
    for kind, name in (("protocol", "quick"), ("suite", "default")):
        assert name in cli("show", kind, name).out


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


def test_mechanisms_are_shown_where_there_are_any(cli):
    assert "mechanisms lstm-recurrence" in cli("show", "model", "lstm").out
    assert cli("show", "model", "exact-parity", "--json").data["traits"]["mechanisms"] == []
    assert "mechanisms" not in cli("show", "model", "exact-parity").out


def test_a_search_goes_with_a_kind(cli):
    for arguments in ((), ("plugins",)):
        done = cli("list", *arguments, "--search", "group")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("formalbench: --search needs a kind")
