"""Arithmetic with brackets, equations, and strings said twice."""

import re
from itertools import product

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench_tasks.languages.brackets_mod_5 import SYMBOLS, draw, evaluate, share_of_zero
from hypothesis import given, settings
from hypothesis import strategies as st


def ids(language, text):
    return np.array([[language.alphabet.index(symbol) for symbol in text]], dtype=np.int64)


def is_expression(text):
    """Rewrite what can be read to a digit, as long as anything can be."""
    before = None
    while text != before:
        before = text
        text = re.sub(r"\(\d\)|(?<![\d)])-\d|\d[+*-]\d(?!\d)", "0", text, count=1)
    return text == "0"


def test_the_domain_is_what_can_be_read_as_an_expression(make, every_string):
    language = make("modular-arithmetic-brackets")
    shrunk = every_string(6, 6)  # over 0 + - * ( )
    strings_BN = np.array([0, 5, 6, 7, 8, 9])[shrunk]
    texts = ["".join(SYMBOLS[symbol] for symbol in string) for string in strings_BN.tolist()]
    assert language.in_domain(strings_BN).tolist() == [is_expression(text) for text in texts]


EXPRESSIONS = st.recursive(
    st.sampled_from("01234"),
    lambda inner: (
        inner.map("({})".format)
        | inner.map("-{}".format)
        | st.tuples(inner, st.sampled_from("+-*"), inner).map("".join)
    ),
    max_leaves=60,
)


@settings(max_examples=100, deadline=None)
@given(text=EXPRESSIONS)
def test_values_are_those_that_python_reads(make, text):
    language = make("modular-arithmetic-brackets")
    string = ids(language, text)
    expected = eval(text) % 5
    assert language.in_domain(string).all()
    assert language.classify(string).tolist() == [expected]
    assert language.oracle(string[0].tolist()) == expected


DRAWN = re.compile(r"-?\d|\(-?\d\)")


def test_every_operation_drawn_has_brackets():
    for length in (*range(1, 12), 40, 101):
        strings_BN = draw(Stream("drawn", length), length, 50, operators=3)
        for string in strings_BN.tolist():
            text = "".join(SYMBOLS[symbol] for symbol in string)
            assert well_bracketed(text), text


def well_bracketed(text):
    if DRAWN.fullmatch(text):
        return True
    if not (text[0] == "(" and text[-1] == ")" and len(text) > 4):
        return False
    splits = [(text[1:place], text[place + 1 : -1]) for place in find_operators(text)]
    return any(well_bracketed(left) and well_bracketed(right) for left, right in splits)


def find_operators(text):
    return [place for place in range(2, len(text) - 2) if text[place] in "+-*"]


def test_the_lengths_of_both_sides_are_uniform():
    strings_BN = draw(Stream("sides"), 9, 20_000, operators=2)
    texts = ["".join(SYMBOLS[symbol] for symbol in string) for string in strings_BN.tolist()]
    assert not any("*" in text for text in texts)
    # by hand: 1 to 5 symbols on the left, and of 5 there are none shorter than "(1+2)"
    sides = [text[1:-1] for text in texts]
    shares = {
        1: sum(bool(re.match(r"\d", side)) for side in sides),
        2: sum(bool(re.match(r"-\d", side)) for side in sides),
        3: sum(bool(re.match(r"\(\d\)", side)) for side in sides),
        4: sum(bool(re.match(r"\(-\d\)", side)) for side in sides),
        5: sum(bool(re.match(r"\(-?\d[+-]", side)) for side in sides),
    }
    assert [count / 20_000 for count in shares.values()] == pytest.approx([0.2] * 5, abs=0.012)


def test_shares_are_those_of_what_is_drawn():
    assert share_of_zero(1) == share_of_zero(4) == 0.2
    # by hand: two thirds of (d op d) are uniform, a third has nine 0s among 25
    assert share_of_zero(5) == pytest.approx((2 * 5 + 9) / 75)
    for length in (6, 12, 41):
        values_B, _ = evaluate(draw(Stream("shares", length), length, 20_000, operators=3))
        found = np.bincount(values_B, minlength=5) / 20_000
        zero = share_of_zero(length)
        assert found == pytest.approx([zero, *[(1 - zero) / 4] * 4], abs=0.012)


def test_the_x_is_the_next_digit_from_a_uniform_place(make):
    language = make("solve-equation")
    strings_BN = language.sample(Stream("places"), 7, 20_000)  # (d+d)=v or (d-d)=v
    first = (strings_BN[:, 1] == language.alphabet.index("x")).mean()
    assert first == pytest.approx(3 / 5, abs=0.012)  # from the bracket, the digit, or the end
    found = np.bincount(language.classify(strings_BN), minlength=5) / 20_000
    assert found == pytest.approx(language.class_distribution(7), abs=0.012)


@pytest.mark.parametrize("length", [2, 4, 6, 8, 10])
def test_what_is_missing_is_the_parity_of_the_ones_in_sight(make, length):
    language = make("missing-duplicate")
    all_BN = np.array(list(product((0, 1, 2), repeat=length)))
    strings_BN = all_BN[language.in_domain(all_BN)]
    assert len(strings_BN) == length * 2 ** (length // 2)
    assert (language.classify(strings_BN) == (strings_BN == 1).sum(axis=1) % 2).all()


@pytest.mark.parametrize("seed", range(20))
def test_an_automaton_without_groups_takes_strings_with_both_answers_for_one(make, seed):
    """As docs/shortcuts.md proves; maps that keep the order of the states generate no group."""
    stream = Stream("without groups", seed)
    zero, one, blank = np.sort(stream.integers(7, (3, 7)), axis=1).tolist()

    def follow(word, start):
        for symbol in word:
            start = (zero, one, blank)[symbol][start]
        return start

    words, found = [()], {tuple(range(7)): ()}  # what bits do to all states, by a shortest word
    for word in words:
        for longer in ((*word, 0), (*word, 1)):
            ends = tuple(follow(longer, state) for state in range(7))
            if found.setdefault(ends, longer) is longer:
                words.append(longer)
    least = found[min(found, key=lambda ends: len(set(ends)))]
    pair = [(*least, 2, *least, *least, bit, *least) for bit in (0, 1)]
    assert make("missing-duplicate").classify(np.array(pair)).tolist() == [0, 1]
    assert all(follow(pair[0], state) == follow(pair[1], state) for state in range(7))


def test_any_place_may_be_missing(make):
    language = make("missing-duplicate")
    strings_BN = language.sample(Stream("missing"), 8, 16_000)
    shares = (strings_BN == 2).mean(axis=0)
    assert shares == pytest.approx([1 / 8] * 8, abs=0.012)
    assert language.classify(strings_BN).mean() == pytest.approx(0.5, abs=1e-3)
    assert [language.round_length(length) for length in (1, 2, 3, 500)] == [0, 2, 2, 500]
