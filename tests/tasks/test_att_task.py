"""Automata as AT&T text: what is taken, and what is refused in one line."""

import re

import numpy as np
import pytest
from formalbench import RequestError
from formalbench.contracts.source import Stream
from formalbench_tasks import plugin
from formalbench_tasks.configs import FileConfig

# b after every a, but the state named first is 7, and 3 is reached by nothing.
WRITTEN = """
7 2 a a
2\t7\tb\tb

7
3 7 a a
7 7 c
"""


def read(tmp_path, text, name="04.04.TLT.2.1.0.att"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return plugin.formalbench_read_file(path)


def test_an_automaton(tmp_path, every_string):
    spec = read(tmp_path, WRITTEN)
    assert (spec.name, spec.version) == ("04-04-tlt-2-1-0", 2001)
    assert spec.objectives == ("classify", "tag", "next-symbols")
    language = spec.factory(FileConfig())
    assert language.alphabet == ("a", "b", "c")
    assert language.automaton.num_states == 3  # one of them accepts nothing
    for length in range(7):
        strings_BN = every_string(3, length)
        words = ["".join("abc"[symbol] for symbol in row) for row in strings_BN]
        expected = [int(re.fullmatch("(ab|c)*", word) is not None) for word in words]
        assert language.classify(strings_BN).tolist() == expected
        assert [language.oracle(row) for row in strings_BN.tolist()] == expected


def test_random_automata(tmp_path):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        moves = {
            (int(rng.integers(6)), symbol): int(rng.integers(6))
            for symbol in "xyz"
            for _ in range(5)
        }
        final = set(rng.integers(6, size=2).tolist())
        lines = [
            f"{source} {target} {symbol} {symbol}" for (source, symbol), target in moves.items()
        ]
        text = "\n".join([*lines, *map(str, final)])
        language = read(tmp_path, text).factory(FileConfig())
        strings_BN = Stream("att", seed).integers(len(language.alphabet), (100, 8))
        for row, label in zip(strings_BN.tolist(), language.classify(strings_BN), strict=True):
            state = next(iter(moves))[0]
            for symbol in row:
                state = moves.get((state, language.alphabet[symbol]))
            assert label == (state in final)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 1 a a\n0 2 a a\n1\n", ":2: a second way on from state 0 with 'a': the automaton must"),
        ("0 1 a b\n1\n", ":1: 'a' is read and 'b' written: no automaton"),
        ("0 1 <eps> <eps>\n1\n", ":1: <eps> reads nothing"),
        ("0 1 a a\n1 0 b b\n", ": there is no final state in it: is its end missing?"),
        ("0 1 a a\n\n1 0.5\n", ":3: 2 fields: a transition has from, to, in and out"),
        ("q 1 a a\n", ":1: 'q' is not the number of a state"),
        ("0 1 \x07 \x07\n", ":1: symbol '\\x07' cannot be printed"),
        ("", ": there is no transition in it"),
        (b"0 1 \xff \xff\n", ": not UTF-8: invalid start byte at byte 4"),
        ("\n".join(f"{n} {n + 1} a" for n in range(10_001)), ": there are 10002 states: at most"),
        ("\n".join(f"0 1 {chr(0x4E00 + n)}" for n in range(501)), ": there are 501 symbols: at"),
        (
            "\n".join(f"{n} {n + 1} {chr(0x4E00 + n % 450)}" for n in range(4000)),
            ": 4001 states and 450 symbols are 1800450 transitions: at most",
        ),
    ],
)
def test_what_is_refused(tmp_path, text, problem):
    with pytest.raises(RequestError) as error:
        read(tmp_path, text)
    assert f"04.04.TLT.2.1.0.att{problem}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["a-.att", "a..b.att", "ä.att"])
def test_names_that_no_task_can_have(tmp_path, name):
    with pytest.raises(RequestError, match="its name must be letters and digits"):
        read(tmp_path, WRITTEN, name)


def test_a_folder_of_automata(cli, own_place, tmp_path):
    (tmp_path / "dfas").mkdir()
    (tmp_path / "dfas" / "04.02.SL.1.att").write_text("0 1 a a\n1 0 b b\n0\n")
    (tmp_path / "dfas" / "Last.B.att").write_text("0 0 a\n0 1 b\n1 0 a\n1 1 b\n1\n")
    folder = tmp_path / "dfas"
    done = cli("list", "tasks", "--class", "star-free", "--json", "--plugin", folder)
    rows = {row["name"]: row["theory"]["class"] for row in done.data}
    assert (rows["04-02-sl-1"], rows["last-b"]) == ("c-rasp", "c-rasp-last")
    label = cli("label", "04-02-sl-1", "-", "--plugin", folder, stdin="abab\naba\n")
    assert label.lines == ["1", "0"]
    shown = cli("show", "task", "04-02-sl-1:next-symbols", "--plugin", folder)
    assert "the language of an automaton with 3 states" in shown.out
