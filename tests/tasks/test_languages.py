"""Every language of the plugin: the fast implementation against the oracle, and the contract."""

import math
from collections import Counter

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from hypothesis import given, settings
from hypothesis import strategies as st

LONGEST = {1: 30, 2: 11, 3: 7, 4: 6, 5: 5, 6: 5, 8: 5, 9: 4, 10: 5, 11: 5}


MANY = 4000  # strings of a length over any other alphabet


def test_classify_agrees_with_the_oracle_on_every_short_string(language, every_string):
    symbols = len(language.alphabet)
    for length in range((LONGEST.get(symbols) or int(math.log(MANY, symbols))) + 1):
        if not language.has_length(length):
            continue
        strings_BN = every_string(symbols, length)
        strings_BN = strings_BN[language.in_domain(strings_BN)]
        expected = [language.oracle(string) for string in strings_BN.tolist()]
        assert language.classify(strings_BN).tolist() == expected
        assert len(strings_BN) > 0


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_classify_agrees_with_the_oracle_on_arbitrary_strings(taggable, data):
    symbols = st.integers(0, len(taggable.alphabet) - 1)
    string = data.draw(st.lists(symbols, max_size=120))
    assert taggable.classify(np.array([string], dtype=np.int64).reshape(1, -1)).tolist() == [
        taggable.oracle(string)
    ]


def test_two_classes_are_balanced_where_a_length_has_both(membership, every_string):
    symbols = len(membership.alphabet)
    for length in range(9 if symbols <= 2 else LONGEST[symbols]):
        classes = set(membership.classify(every_string(symbols, length)).tolist())
        for count in (10, 11):
            strings_BN = membership.sample(Stream("balance", length, count), length, count)
            ones = int(membership.classify(strings_BN).sum())
            if classes == {0, 1}:
                assert ones in {count // 2, (count + 1) // 2}
                assert membership.class_distribution(length) == (0.5, 0.5)
            else:
                assert ones == count * max(classes)
                assert membership.class_distribution(length)[max(classes)] == 1


def test_the_odd_string_out_falls_to_either_class(membership):
    mixed = (n for n in range(5, 40) if membership.class_distribution(n) == (0.5, 0.5))
    length = next(mixed, None)
    assert (length is None) == (len(membership.alphabet) == 1)  # then the length decides
    if length is None:
        return
    ones = {
        int(membership.classify(membership.sample(Stream("coin", key), length, 1))[0])
        for key in range(20)
    }
    assert ones == {0, 1}


@pytest.mark.parametrize(("name", "length"), [("cycle-navigation", 6), ("modular-arithmetic", 5)])
def test_class_distribution_is_the_share_of_every_class(make, every_string, name, length):
    language = make(name)
    strings_BN = every_string(len(language.alphabet), length)
    strings_BN = strings_BN[language.in_domain(strings_BN)]
    found = Counter(language.oracle(string) for string in strings_BN.tolist())
    expected = [found[label] / len(strings_BN) for label in range(5)]
    assert language.class_distribution(length) == pytest.approx(expected, abs=1e-15)
    assert len(set(expected)) > 1


def test_arithmetic_is_not_uniform_at_any_length(make):
    language = make("modular-arithmetic")
    for length in (1, 3, 41, 499, 2001):
        shares = language.class_distribution(length)
        assert sum(shares) == pytest.approx(1)
        assert min(shares) > 0.18
    assert language.class_distribution(1) == pytest.approx([0.2] * 5)
    # by hand: sums and differences are uniform; products have nine 0s among 25, and four
    # of each other value
    assert language.class_distribution(3) == pytest.approx([(5 + 5 + 9) / 75] + [14 / 75] * 4)


@pytest.mark.parametrize(
    ("text", "value"),
    [("3+2*4-1", 0), ("2*3-4*2", 3), ("0-1", 4), ("4", 4), ("1-2*3", 0), ("2*3*4+1*0-3", 1)],
)
def test_times_binds_tighter(make, text, value):
    language = make("modular-arithmetic")
    string = [language.alphabet.index(symbol) for symbol in text]
    assert language.classify(np.array([string])).tolist() == [value]
    assert language.oracle(string) == value


@pytest.mark.parametrize("text", ["", "+", "1+", "12", "1+2-", "+12", "1+-2", "1+23"])
def test_what_is_not_an_expression_is_outside_the_domain(make, text):
    language = make("modular-arithmetic")
    string = np.array([[language.alphabet.index(symbol) for symbol in text]], dtype=np.int64)
    assert not language.in_domain(string.reshape(1, -1)).any()


def test_arithmetic_has_odd_lengths_only(make):
    language = make("modular-arithmetic")
    assert [language.round_length(length) for length in range(7)] == [0, 1, 1, 3, 3, 5, 5]
    assert [language.has_length(length) for length in range(5)] == [False, True, False, True, False]


@pytest.mark.parametrize(
    ("name", "string", "label"),
    [
        ("parity", "", 0),
        ("parity", "1", 1),
        ("parity", "0110", 0),
        ("first", "", 0),
        ("first", "10", 1),
        ("even-pairs", "", 0),
        ("even-pairs", "1", 0),
        ("even-pairs", "0101", 1),
        ("even-pairs", "0110", 0),
        ("cycle-navigation", "", 0),
        ("cycle-navigation", "-", 4),
        ("cycle-navigation", "++.+", 3),
        ("tomita-1", "", 1),
        ("tomita-2", "1010", 1),
        ("tomita-3", "1000", 0),
        ("tomita-3", "100", 1),
        ("tomita-3", "1011", 0),
        ("tomita-4", "1001000", 0),
        ("tomita-5", "0110", 1),
        ("tomita-6", "0001", 0),
        ("tomita-6", "000", 1),
        ("tomita-7", "01010", 0),
        ("d1", "aabb", 0),
        ("d2", "aabbab", 1),
        ("d2", "aaabbb", 0),
        ("d12", "ba", 0),
    ],
)
def test_known_strings(make, name, string, label):
    language = make(name)
    ids = [language.alphabet.index(symbol) for symbol in string]
    assert language.classify(np.array(ids, dtype=np.int64).reshape(1, -1)).tolist() == [label]
    assert language.oracle(ids) == label


def test_parity_with_other_probabilities(make):
    language = make("parity", p=0.3)
    strings_BN = language.sample(Stream("bits"), 100, 2000)
    assert strings_BN.mean() == pytest.approx(0.3, abs=0.01)
    # by hand: P(odd) of three bits is 3·p·q² + p³
    assert language.class_distribution(3)[1] == pytest.approx(3 * 0.3 * 0.49 + 0.027)
    assert sum(language.class_distribution(3)) == pytest.approx(1)
    short_BN = language.sample(Stream("bits"), 2, 4000)
    share = language.classify(short_BN).mean()
    assert share == pytest.approx(language.class_distribution(2)[1], abs=0.03)


@pytest.mark.parametrize(("p", "label"), [(0.0, 0), (1.0, 1)])
def test_parity_of_constant_bits(make, p, label):
    language = make("parity", p=p)
    assert (language.sample(Stream("constant"), 7, 5) == label).all()
    assert language.class_distribution(7)[label] == 1
