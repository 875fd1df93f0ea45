"""YAML files: what is taken, and what is refused in one line."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Stream
from formalbench.contracts.specs import Splits
from formalbench_tasks.automata.language_file import read as read_task
from formalbench_tasks.configs import FileConfig

REGEX = """
name: star-free-4
alphabet: "ab"
regex: "(ab)*(a|())"
"""

TABLE = """
name: thirds
summary: the number of 1s is a multiple of three
reference: nobody (2026)
version: 3
alphabet: [0, 1]
states: [0, one, two]
start: 0
accept: [0]
splits: {train: [1, 20], test: [21, 30]}
transitions:
  0: {0: 0, 1: one}
  one: {0: one, 1: two}
  two: {0: two, 1: 0}
"""


def read(text):
    return read_task(Path("dir/mine.yaml"), yaml.safe_load(text))


def check(language, contains, longest=6):
    """Compare the fast implementation, the oracle and a definition on all short strings."""
    size = len(language.alphabet)
    for length in range(longest + 1):
        strings = list(product(range(size), repeat=length))
        strings_BN = np.array(strings, dtype=np.int64).reshape(len(strings), length)
        expected = [int(contains([language.alphabet[s] for s in string])) for string in strings]
        assert language.classify(strings_BN).tolist() == expected
        assert [language.oracle(string) for string in strings] == expected


def test_a_regular_expression():
    spec = read(REGEX)
    assert (spec.name, spec.version, spec.splits) == ("star-free-4", 2001, Splits())
    assert spec.objectives == ("classify", "tag", "next-symbols")
    assert "(ab)*(a|())" in spec.summary
    language = spec.factory(FileConfig())
    assert language.alphabet == ("a", "b")
    check(language, lambda s: all(x == "ab"[i % 2] for i, x in enumerate(s)))


def test_an_automaton():
    spec = read(TABLE)
    assert (spec.version, spec.reference) == (2003, "nobody (2026)")  # 2: the sampler
    assert spec.summary == "the number of 1s is a multiple of three"
    assert spec.splits == Splits(train=(1, 20), test=(21, 30))
    language = spec.factory(FileConfig())
    assert language.alphabet == ("0", "1")
    check(language, lambda s: s.count("1") % 3 == 0)


@pytest.mark.parametrize(("accept", "label"), [("[]", 0), ("[q]", 1)])
def test_the_empty_language_and_the_full_one(accept, label):
    text = f"""
name: trivial
alphabet: "xy"
states: [q]
start: q
accept: {accept}
transitions: {{q: {{x: q, "y": q}}}}
"""
    language = read(text).factory(FileConfig())
    check(language, lambda s: label == 1, longest=4)
    strings_BN = language.sample(Stream("trivial"), 5, 9)
    assert strings_BN.shape == (9, 5)
    assert language.class_distribution(5) == ((0.0, 1.0) if label else (1.0, 0.0))
    assert language.has_members(5) == bool(label)
    assert language.next_symbols(strings_BN).all() == bool(label)
    assert language.next_symbols(strings_BN).any() == bool(label)
    assert (language.classify_prefixes(strings_BN) == label).all()


def test_an_alphabet_of_one_symbol():
    language = read('{name: even, alphabet: "a", regex: (aa)*}').factory(FileConfig())
    check(language, lambda s: len(s) % 2 == 0)
    assert language.sample(Stream("one"), 4, 3).tolist() == [[0] * 4] * 3
    assert language.class_distribution(3) == (1.0, 0.0)


BAD = {
    # text -> what the message must say
    '{name: x, alphabet: "ab", regex: "a("}': "regex 'a(', at character 2: this '(' is",
    '{name: x, alphabet: "01", regex: 01}': "regex=1: must be text: put it in quotes",
    '{name: x, alphabet: [1, "1"], regex: "1"}': "alphabet: '1' is there twice",
    "{name: x, alphabet: [yes, no], regex: y}": "truth values; put it in quotes",
    '{name: x, alphabet: ["a b"], regex: a}': "alphabet.0=a b: holds white space",
    "{name: x, alphabet: ab, regex: a, splits: {step: 41}}": "41 is longer than train, 1 to 40",
    "{name: x, alphabet: [ab, c], regex: c}": "regex needs one-character symbols, but 'ab'",
    "{name: x, alphabet: 01, regex: a}": "alphabet=1: must be a list of symbols, or their",
    "{name: x, alphabet: ab}": "give either 'regex' or an automaton (states, start",
    "{name: x, alphabet: ab, regex: a, start: q}": "give either 'regex' or an automaton",
    "{name: x, alphabet: ab, regex: a, sampling: unifrom}": "unifrom: must be 'near-misses', 'ed",
    "{name: x, alphabet: ab, regex: a, objectives: [tags]}": "tags: must be 'classify', 'tag'",
    '{name: x, alphabet: ab, regex: a, reference: "\\ud800"}': "reference='\\ud800': cannot be",
    "{name: x, alphabet: ab, regex: a, splits: {train: [9, 2]}}": "train must be [shortest",
    f"{{name: x, alphabet: ab, regex: a, version: 0x{'f' * 5000}}}": "version=(a huge number): mu",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:70])
def test_mistakes_are_one_line_with_the_file(text):
    refuse(text, BAD[text])


def test_all_mistakes_are_told_at_once():
    text = "{name: My Task, alphabet: aa, regex: a, version: 0, sumary: x, splits: {train: [5]}}"
    for problem in (
        "unknown key 'sumary': did you mean summary?",
        "name=My Task: must be lower-case letters, digits and single hyphens",
        "alphabet: 'a' is there twice",
        "version=0: must be at least 1",
        "splits.train.1: is missing",
    ):
        refuse(text, problem)


def refuse(text, problem):
    with pytest.raises(RequestError) as caught:
        read(text)
    message = str(caught.value)
    assert problem in message
    assert message.startswith(f"{Path('dir/mine.yaml')}: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("{0: one, 1: two}", "{0: one}", "transitions of state 'one': nothing for symbol '1'"),
        ("1: two}", "1: tow}", "transitions: unknown state 'tow'"),
        ("1: two}", "1: two, 2: two}", "transitions of state 'one': unknown symbol '2'"),
        ("1: two}", "1: two, '1': 0}", "a symbol is there twice"),
        ("  two: {0: two, 1: 0}\n", "", "transitions of state 'two': nothing for symbol '0'"),
        ("start: 0", "start: q", "start: unknown state 'q'"),
        ("states: [0, one, two]", "states: [0, one, two, one]", "states: 'one' is there twice"),
    ],
)
def test_mistakes_in_automata(before, after, problem):
    assert before in TABLE
    refuse(TABLE.replace(before, after), problem)


def test_an_automaton_that_is_too_large_is_one_line_with_the_file():
    spec = read('{name: x, alphabet: "ab", regex: (a|b)*a' + "(a|b)" * 18 + "}")
    with pytest.raises(RequestError) as caught:
        spec.factory(FileConfig())
    assert str(caught.value).startswith(f"{Path('dir/mine.yaml')}: regex: its automaton is too")


def automaton(states, symbols):
    return {
        "name": "large",
        "alphabet": [f"s{index}" for index in range(symbols)],
        "states": list(range(states)),
        "start": 0,
        "accept": [0],
        "transitions": {
            state: {f"s{symbol}": (state + symbol) % states for symbol in range(symbols)}
            for state in range(states)
        },
    }


def test_many_states_and_symbols_are_read_in_a_moment():
    """Comparing every name with every other takes minutes here."""
    for states, symbols in ((10_000, 2), (100, 500)):
        spec = read_task(Path("x.yaml"), automaton(states, symbols))
        assert spec.summary == f"the language of an automaton with {states} states"
    with pytest.raises(RequestError, match="states: must have at most 10000"):
        read_task(Path("x.yaml"), automaton(10_001, 1))
    many = automaton(1, 1) | {"alphabet": [f"s{index}" for index in range(100_000)]}
    with pytest.raises(RequestError, match="alphabet: must have at most 500 items"):
        read_task(Path("x.yaml"), many)


def drawn(text, **options):
    """Return the version of (01)*, and how many non-members and balanced ones are drawn."""
    spec = read(f'{{name: x, alphabet: "01", regex: "(01)*"{text}}}')
    language = spec.factory(FileConfig(**options))
    strings_BN = language.sample(Stream("ways"), 40, 400)
    outside_BN = strings_BN[language.classify(strings_BN) == 0]
    return spec.version, len(outside_BN), int((outside_BN.sum(axis=1) == 20).sum())


def test_how_strings_are_drawn():
    """One uniform string in eight has as many 0s as 1s; of near misses three in four at least."""
    version, outside, balanced = drawn("")
    assert (version, outside) == (2001, 200)
    assert balanced >= 0.75 * outside
    assert drawn(", sampling: near-misses") == (version, outside, balanced)
    version, outside, edited = drawn(", sampling: edited")
    assert (version, outside) == (1, 200)
    version, outside, uniform = drawn(", sampling: uniform, version: 3")
    assert (version, outside) == (3, 200)
    assert drawn(", sampling: long-runs, version: 2")[:2] == (2, 200)
    assert drawn(", version: 3", sampling="uniform") == (2003, 200, uniform)
    assert uniform < edited < balanced
    assert uniform < 0.25 * outside


@pytest.mark.parametrize("splits", ["train: [2, 3], step: 2", "train: [5, 5], step: 3"])
def test_a_step_within_a_window(splits):
    assert read(REGEX + f"splits: {{{splits}}}").splits.train[0] in (2, 5)
