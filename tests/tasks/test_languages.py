"""Every language of the plugin: the fast implementation against the oracle, and the contract."""

from collections import Counter

import pytest
from formalbench.contracts.source import Stream


def test_two_classes_are_balanced_where_a_length_has_both(membership, every_string, longest):
    symbols = len(membership.alphabet)
    for length in range(longest(symbols, 4000) if symbols > 2 else 9):
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


def test_arithmetic_has_odd_lengths_only(make):
    language = make("modular-arithmetic")
    assert [language.round_length(length) for length in range(7)] == [0, 1, 1, 3, 3, 5, 5]
    assert [language.has_length(length) for length in range(5)] == [False, True, False, True, False]


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
