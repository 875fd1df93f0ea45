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


@pytest.mark.parametrize("kind", ["tasks", "models", "suites", "protocols", "plugins"])
def test_tables_are_not_cut_for_a_pipe(cli, kind):
    done = cli("list", kind)
    assert (done.code, done.err) == (0, "")
    for row in cli("list", kind, "--json").data:
        (line,) = [line for line in done.lines if line.split()[:1] == [row["name"]]]
        assert row.get("summary", "") in line
    assert "…" not in done.out.replace("a … b", "")


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


def test_an_exact_model_is_shown_with_its_own_task(cli):
    facts = cli("show", "model", "yao-soft-2-3", "--json").data
    assert facts["parameters"]["task"] == "dyck-2-3:next-symbols"
    assert facts["parameters"]["count"] > 0


def test_a_protocol_and_a_suite(cli):
    assert cli("show", "protocol", "quick", "--json").data["steps"] == 2000
    assert cli("show", "suite", "default", "--json").data["tasks"][0] == "parity"
    for kind, name in (("protocol", "quick"), ("suite", "default")):
        assert name in cli("show", kind, name).out
