"""Regular expressions: the dialect, against Python's own `re`."""

import re
from itertools import product

import numpy as np
import pytest
from formalbench_tasks.automata.regex import (
    RegexDefinition,
    RegexError,
    compile_regex,
    matches,
    parse,
)
from formalbench_tasks.automata.regular_language import CustomLanguage
from hypothesis import given, settings
from hypothesis import strategies as st


def expressions(symbols):
    """Expressions in the dialect, each with the same expression for Python's `re`."""
    leaf = st.sampled_from([("()", "(?:)"), *[(s, re.escape(s)) for s in symbols]])

    def larger(inner):
        joined = st.lists(inner, min_size=1, max_size=3)
        repeated = st.tuples(inner, st.sampled_from("*+?"))
        return st.one_of(
            joined.map(lambda parts: tuple(f"({''.join(p)})" for p in zip(*parts, strict=True))),
            joined.map(lambda parts: tuple(f"({'|'.join(p)})" for p in zip(*parts, strict=True))),
            repeated.map(lambda pair: tuple(f"({text}){pair[1]}" for text in pair[0])),
        )

    return st.recursive(leaf, larger, max_leaves=8)


@settings(max_examples=60, deadline=None)
@given(pair=expressions("ab"))
def test_automaton_and_matcher_agree_with_python(pair):
    ours, python = pair
    automaton, node = compile_regex(ours, "ab"), parse(ours, "ab")
    for length in range(6):
        for string in product(range(2), repeat=length):
            text = "".join("ab"[symbol] for symbol in string)
            expected = re.fullmatch(python, text) is not None
            assert matches(node, string) == expected
            found = automaton.classify(np.array(string, dtype=np.int64).reshape(1, -1))[0]
            assert bool(found) == expected


@pytest.mark.parametrize(
    ("regex", "alphabet", "inside", "outside"),
    [
        (r"(\+|-|.)*.", "+-.", ["+-.", "."], ["", "+"]),
        (r"\(a\)|\\", "()a\\", ["(a)", "\\"], ["a", ""]),
        (r"a b *", "ab", ["a", "abb"], ["b", ""]),
        (r"a b *", "ab ", ["a b", "a b  ".rstrip() + "  "], ["a", "abb"]),
        (r"a+?b", "ab", ["b", "aab"], ["", "a"]),
        (r"a**|b++", "ab", ["", "aa", "bb"], ["ab"]),
        (r"(ab)?a", "ab", ["a", "aba"], ["", "ab"]),
        (r"()", "ab", [""], ["a"]),
        (r"a|()", "ab", ["", "a"], ["b"]),
        (r"[&]^.{,}", "[]&^.{},", ["[&]^.{,}"], ["["]),
        (r"\a*", "ab", ["", "aa"], ["b"]),
        (r"é|日*", "é日", ["é", "日日", ""], ["éé"]),
    ],
)
def test_dialect(regex, alphabet, inside, outside):
    language = CustomLanguage(RegexDefinition(tuple(alphabet), regex))
    for text, label in [*((t, 1) for t in inside), *((t, 0) for t in outside)]:
        string = [alphabet.index(symbol) for symbol in text]
        assert language.classify(np.array(string, dtype=np.int64).reshape(1, -1))[0] == label
        assert language.oracle(string) == label


@pytest.mark.parametrize(
    ("regex", "problem"),
    [
        ("ac", "at character 2: 'c' is not in the alphabet"),
        ("(ab", "at character 1: this '(' is never closed"),
        ("ab)a", "at character 3: this ')' closes nothing"),
        ("*a", "at character 1: '*' has nothing to repeat"),
        ("a|", "at character 3: nothing stands here"),
        ("a\\c", "at character 2: '\\c' is not a symbol of the alphabet"),
        ("a\\", "at character 2: a lone '\\' at the end"),
        ("(" * 101 + "a" + ")" * 101, "more than 100 parentheses"),
    ],
)
def test_mistakes_are_named_with_their_place(regex, problem):
    with pytest.raises(RegexError, match=re.escape(problem)):
        parse(regex, "ab")


def test_deep_and_long_expressions_are_fine():
    deep = "(" * 90 + "a" + ")*" * 90
    assert compile_regex(deep, "ab").num_states == 2
    assert compile_regex("a" + "*+?" * 2000, "ab").num_states == 2
    assert compile_regex("ab" * 150, "ab").num_states == 302


def test_the_matcher_does_not_explode():
    """Backtracking matchers take 2^N steps here."""
    node = parse("(a*)*(a|aa)*b", "ab")
    assert not matches(node, [0] * 300)
    assert matches(node, [0] * 300 + [1])


@pytest.mark.parametrize("inner", ["a*b*", "ab?", "a*|b", "()|a+b*"])
def test_repetitions_inside_each_other_take_polynomial_time(inner):
    """Sets of positions alone take N^depth steps here."""
    node = parse("(" * 14 + inner + ")*" * 14 + "b", "ab")
    assert matches(node, [0, 0, 1] * 60)
    assert not matches(node, [0, 1, 0] * 60)
    node = parse("((" * 14 + inner + "|a)*b?)*" * 14, "ab")
    assert matches(node, [0, 0, 1] * 60)


@pytest.mark.parametrize(
    ("regex", "simple"),
    [
        *[("((((a*)*)*)*)*", "a*"), ("(a+)+", "a+"), ("((a?))?", "a?"), ("(a+)?", "a*")],
        *[("(a?)+", "a*"), ("(a*)+", "a*"), ("(a+)*", "a*"), ("((a?)?+)", "a*")],
        ("((ab)*)*b", "(ab)*b"),
    ],
)
def test_a_repetition_of_a_repetition_is_one(regex, simple):
    assert parse(regex, "ab") == parse(simple, "ab")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("regex", "problem"),
    [
        ("(a|b)*a" + "(a|b)" * 18, "its automaton is too large, even before it is minimised"),
        ("a?" * 4000, "its automaton is too large, even before it is minimised"),
        ("ab" * 5000, "its automaton has 10002 states: at most 10000"),
        ("ab" * 5001, "10002 characters are too many: at most 10000"),
    ],
)
def test_automata_that_are_too_large_are_refused(regex, problem):
    with pytest.raises(RegexError, match=problem):
        compile_regex(regex, "ab")


@pytest.mark.slow
def test_large_automata_are_built():
    assert compile_regex("(a|b)*a" + "(a|b)" * 10, "ab").num_states == 2048
    assert compile_regex("ab" * 2000, "ab").num_states == 4002
    symbols = [chr(0x100 + index) for index in range(300)]
    assert compile_regex("(" + "|".join(symbols) + ")*", symbols).num_states == 1
