"""The languages in YAML files, compared with their summaries."""

import json
import re
from itertools import groupby, pairwise

import numpy as np
import pytest
from formalbench import read_yaml
from formalbench.contracts.source import Stream
from formalbench_tasks import index
from formalbench_tasks.configs import FileConfig

FILES = {path.stem: read_yaml(path) for path in (index.FOLDER / "regular").glob("*.yaml")}
SPECS = {spec.name: spec for spec in index.announce() if spec.name in FILES}


def test_the_index_is_up_to_date():
    assert json.loads(index.INDEX.read_text()) == index.index()
    assert set(SPECS) == set(FILES) == {data["name"] for data in FILES.values()}


def walked(word: str) -> bool:
    """Say whether a digit ends the word and the walk before it ends there."""
    steps, end = word[:-1], word[-1:]
    place = (steps.count(">") - steps.count("<")) % 5
    return end.isdigit() and not re.search(r"\d", steps) and int(end) == place


EQUATION = re.compile(r"[0-4]([-+*][0-4])*=[0-4]")


def by_precedence(word: str) -> bool:
    left, _, right = word.partition("=")
    return bool(EQUATION.fullmatch(word)) and eval(left) % 5 == int(right)


def left_to_right(word: str) -> bool:
    if not EQUATION.fullmatch(word):
        return False
    value = int(word[0])
    for operator, digit in zip(word[1:-2:2], word[2:-2:2], strict=True):
        value = eval(f"{value} {operator} {digit}") % 5
    return value == int(word[-1])


def stays(first: tuple[int, ...], second: tuple[int, ...]):
    def is_home(word: str) -> bool:
        things = list(range(len(first)))  # which thing lies where
        for symbol in word:
            moved = first if symbol == "a" else second
            things = [things[moved.index(place)] for place in range(len(things))]
        return things[0] == 0

    return is_home


def nested(depth: int):
    """Look for ab and cross it out, as often as pairs may be nested."""

    def is_in(word: str) -> bool:
        for _ in range(depth):
            word = re.sub(r"a(-*)b", lambda pair: "-" * len(pair[0]), word)
        return set(word) <= {"-"}

    return is_in


def no_odd_runs_in_turn(word: str) -> bool:
    runs = [(bit, len(list(run))) for bit, run in groupby(word)]
    return not any(
        bit == "1" and ones % 2 == zeros % 2 == 1 for (bit, ones), (_, zeros) in pairwise(runs)
    )


WORDS = {
    **{f"d{depth}": nested(depth) for depth in (1, 2, 3, 4, 12)},
    "even-pairs": lambda w: w[:1] != w[-1:],
    "first": lambda w: w.startswith("1"),
    "tomita-1": lambda w: "0" not in w,
    "tomita-2": lambda w: w == "10" * (len(w) // 2),
    "tomita-3": no_odd_runs_in_turn,
    "tomita-4": lambda w: "000" not in w,
    "tomita-5": lambda w: w.count("0") % 2 == w.count("1") % 2 == 0,
    "tomita-6": lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    "a-multiple-of-3": lambda w: w.count("a") % 3 == 0,
    "a-multiple-of-5": lambda w: w.count("a") % 5 == 0,
    "a5-orbit": stays((1, 2, 3, 4, 0), (1, 2, 0, 3, 4)),
    "blocks-ab": lambda w: w[:1] == "a" and w[-1:] == "b",
    "contains-ab": lambda w: "ab" in w,
    "cycle-navigation-check": walked,
    "divisible-by-3": lambda w: int("0" + w, 2) % 3 == 0,
    "ends-in-b": lambda w: w.endswith("b"),
    "even-a": lambda w: len(w) % 2 == 0,
    "even-a-no-bb": lambda w: w.count("a") % 2 == 0 and "bb" not in w,
    "flip-flop-state": lambda w: w.rstrip("-").endswith("1"),
    "fours-a": lambda w: len(w) % 4 == 0,
    "modular-arithmetic-check": by_precedence,
    "modular-arithmetic-simple": left_to_right,
    "no-a-then-b": lambda w: "a" not in w[: w.rfind("b") + 1],
    "no-bb": lambda w: "bb" not in w,
    "no-bb-but-for-c": lambda w: "bb" not in w.replace("c", ""),
    "one-aa-at-most": lambda w: sum(w[at : at + 2] == "aa" for at in range(len(w))) <= 1,
    "one-d-between": lambda w: (
        w.count("d") == 1 and "c" not in w.split("d")[0] and "a" not in w.split("d")[1]
    ),
    "ordered-abc": lambda w: list(w) == sorted(w),
    "ordered-abcde": lambda w: list(w) == sorted(w) and set(w) == set("abcde"),
    "repeat-01": lambda w: w == "01" * (len(w) // 2),
    "repeat-abab": lambda w: w == "abab" * (len(w) // 4),
    "repeat-bbac": lambda w: w == "bbac" * (len(w) // 4),
    "s5-orbit": stays((1, 2, 3, 4, 0), (1, 0, 2, 3, 4)),
    "subsequence-ab": lambda w: "b" in w[w.find("a") :] if "a" in w else False,
    "three-blocks-ab": lambda w: (
        re.sub(r"(.)\1+", r"\1", w) == "ababab"  # every run as one symbol
    ),
    "triangle": stays((1, 2, 0), (1, 0, 2)),
    "zero-then-twos": lambda w: "0" in w and set(w[w.rfind("0") + 1 :]) <= {"2"},
}
EVERY = {1: 20, 2: 11, 3: 7, 4: 5, 5: 5, 8: 4, 9: 4}


def says(name: str, word: str) -> bool:
    if name in WORDS:
        return bool(WORDS[name](word))
    return re.fullmatch(FILES[name]["regex"], word) is not None


@pytest.mark.parametrize("name", sorted(SPECS))
def test_words_and_files_agree(name, every_string):
    language = SPECS[name].factory(FileConfig())
    lengths = range(EVERY[len(language.alphabet)] + 1)
    for strings_BN in [every_string(len(language.alphabet), length) for length in lengths]:
        words = ["".join(language.alphabet[symbol] for symbol in row) for row in strings_BN]
        expected = [says(name, word) for word in words]
        assert language.classify(strings_BN).tolist() == expected


@pytest.mark.parametrize("name", ["modular-arithmetic-simple", "modular-arithmetic-check"])
def test_long_equations(name):
    language = SPECS[name].factory(FileConfig())
    strings_BN = language.sample(Stream("equations"), 41, 200)
    words = ["".join(language.alphabet[symbol] for symbol in row) for row in strings_BN]
    assert language.classify(strings_BN).tolist() == [says(name, word) for word in words]
    assert np.mean([says(name, word) for word in words]) == 0.5


@pytest.mark.parametrize(
    "name", ["first", "even-pairs", "tomita-3", "tomita-5", "tomita-6", "d2", "d3", "d12"]
)
def test_long_strings(name):
    """If words are checked in one pass, long strings are compared with them as well."""
    language = SPECS[name].factory(FileConfig())
    for length in (50, 100, 500):
        strings_BN = language.sample(Stream("long words", length), length, 50)
        words = ["".join(language.alphabet[symbol] for symbol in row) for row in strings_BN]
        assert language.classify(strings_BN).tolist() == [says(name, word) for word in words]
