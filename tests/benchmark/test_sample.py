"""`formalbench sample`: exactly as many strings as asked for, the same everywhere."""

import json

import pytest


def rows(done):
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.lines]


def test_one_row_by_default(cli):
    (row,) = rows(cli("sample", "parity", "--length", 5))
    assert list(row) == ["string", "target"]
    assert len(row["string"]) == 5
    assert set(row["string"]) <= {"0", "1"}
    assert row["target"] == row["string"].count("1") % 2


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_the_count_is_exact(cli, count):
    assert len(rows(cli("sample", "tomita-3", "--length", 12, "--count", count))) == count


def test_the_empty_string(cli):
    assert rows(cli("sample", "parity", "--length", 0)) == [{"string": [], "target": 0}]
    assert (
        rows(cli("sample", "d2", "--length", 0, "--count", 2)) == [{"string": [], "target": 1}] * 2
    )
    assert rows(cli("sample", "tomita-1:next-symbols", "--length", 0)) == [
        {"string": [], "target": [["1", "$"]]}
    ]


def test_targets_of_the_other_objectives_are_lists(cli):
    (row,) = rows(cli("sample", "parity:tag", "--length", 4))
    bits = [int(symbol) for symbol in row["string"]]
    assert row["target"] == [sum(bits[: end + 1]) % 2 for end in range(4)]
    (row,) = rows(cli("sample", "tomita-2:next-symbols", "--length", 4))
    assert row["string"] == ["1", "0", "1", "0"]
    assert row["target"] == [["1", "$"], ["0"], ["1", "$"], ["0"], ["1", "$"]]


@pytest.mark.parametrize(
    ("name", "length", "nearest"),
    [("tomita-2:next-symbols", 3, 2), ("d2:next-symbols", 5, 4), ("parity:next-symbols", 0, 1),
     ("parity:tag", 0, 1), ("modular-arithmetic", 2, 1), ("modular-arithmetic", 8, 7)],
)  # fmt: skip
def test_a_length_without_strings_is_refused_with_the_nearest_one(refused, name, length, nearest):
    told = refused("sample", name, "--length", length)
    assert f"no string of length {length}: the nearest that it has is {nearest}" in told


def test_seeds_and_options(cli):
    def draw(*more):
        return cli("sample", "parity", "--length", 30, "--count", 5, *more).out

    assert draw() == draw("--seed", 0) == draw("--set", "p=0.5")
    assert len({draw(), draw("--seed", 1), draw("--seed", -1), draw("--set", "task.p=0.25")}) == 4
    ones = rows(cli("sample", "parity", "--length", 30, "--set", "p=1"))
    assert ones[0]["string"] == ["1"] * 30


def test_options_behind_the_name(cli):
    words = ("--length", 30, "--count", 5)
    for name in ("parity", "parity:tag"):
        set_apart = cli("sample", name, *words, "--set", "p=0.25")
        assert rows(cli("sample", f"{name}[p=0.25]", *words)) == rows(set_apart)
        # What stands behind the name wins.
        assert cli("sample", f"{name}[p=0.25]", *words, "--set", "p=1").out == set_apart.out


def test_a_function_s_target_is_its_answer(cli, backwards):
    words = ("--length", 6, "--count", 4, "--plugin", backwards)
    for row in rows(cli("sample", "backwards", *words)):
        assert row["target"] == ["ab".index(symbol) for symbol in reversed(row["string"])]
    for row in rows(cli("sample", "without-zeros", *words)):
        assert row["target"] == [int(symbol) - 1 for symbol in row["string"] if symbol != "0"]


def test_golden_bytes(cli):
    done = cli("sample", "parity", "--length", 8, "--count", 2, "--seed", 1)
    assert done.lines == [
        '{"string": ["1", "0", "0", "0", "0", "1", "0", "1"], "target": 1}',
        '{"string": ["0", "1", "1", "0", "1", "0", "0", "1"], "target": 0}',
    ]
