"""Every function from strings to strings: the fast implementation against the oracle."""

from itertools import product

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench.objectives.transduce import Transduce
from hypothesis import given, settings
from hypothesis import strategies as st


def ids(function, text):
    words = text.split() if " " in text else list(text)
    return np.array([[function.alphabet.index(word) for word in words]], dtype=np.int64)


def answers(function, strings_BN):
    answers_BM, sizes_B = function.transduce(strings_BN)
    assert answers_BM.dtype == sizes_B.dtype == np.int64
    rows = zip(answers_BM.tolist(), sizes_B.tolist(), strict=True)
    assert not any(any(answer[size:]) for answer, size in rows)
    rows = zip(answers_BM.tolist(), sizes_B.tolist(), strict=True)
    return [answer[:size] for answer, size in rows]


BITS = st.text("01", min_size=1, max_size=300)


@settings(max_examples=50, deadline=None)
@given(left=BITS, right=BITS)
def test_sums_and_products_are_pythons(make, left, right):
    for name, sign in (("binary-addition", "+"), ("binary-multiplication", "*")):
        function = make(name)
        one, other = int(left[::-1], 2), int(right[::-1], 2)
        result = one + other if sign == "+" else one * other
        expected = [int(bit) for bit in f"{result:b}"[::-1]]
        (answer,) = answers(function, ids(function, left + sign + right))
        assert answer == expected
        assert len(answer) < function.answer_length(len(left) + len(right) + 1)  # END fits


@settings(max_examples=50, deadline=None)
@given(bits=BITS)
def test_roots_are_the_greatest_whose_square_fits(make, bits):
    function = make("square-root")
    (answer,) = answers(function, ids(function, bits))
    root, number = int("".join(map(str, answer)), 2), int(bits, 2)
    assert root**2 <= number < (root + 1) ** 2
    assert len(answer) == -(-len(bits) // 2)


def test_lengths(make):
    for name in ("binary-addition", "binary-multiplication"):
        assert [make(name).has_length(length) for length in range(5)] == [False] * 3 + [True] * 2
        with pytest.raises(ValueError, match="do not fit into 2"):
            make(name).sample(Stream("short"), 2, 1)
    assert [make("stack-manipulation").has_length(length) for length in range(3)] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("name", "blanks"),
    [
        ("reverse-string", 40),
        ("duplicate-string", 80),
        ("odds-first", 40),
        ("bucket-sort", 40),
        ("square-root", 20),
        ("binary-addition", 41),
        ("binary-multiplication", 40),
        ("stack-manipulation", 41),
    ],
)
def test_blanks_and_what_is_scored_are_the_references(make, name, blanks):
    function = make(name)
    strings_BN = function.sample(Stream("mask"), 40, 50)
    example = Transduce().examples(function, strings_BN, Stream("mask"))
    assert example.inputs.shape == (50, 40 + blanks)
    assert not example.scored[:, :40].any()
    sizes = [len(function.oracle(string)) for string in strings_BN.tolist()]
    ends = [size < blanks for size in sizes]  # END counts, what stands behind it does not
    assert example.scored.sum(axis=1).tolist() == np.add(sizes, ends).tolist()
    if name.startswith(("binary", "stack")):
        assert all(ends)
    else:
        assert not any(ends)


def test_numbers_drawn_are_uniform(make):
    strings_BN = make("binary-addition").sample(Stream("numbers"), 5, 20_000)
    found = ["".join(map(str, string)) for string in strings_BN.tolist()]
    numbers = [
        f"{left}2{right}"
        for size in (1, 2, 3)
        for left in map("".join, product("01", repeat=size))
        for right in map("".join, product("01", repeat=4 - size))
        if "1" in left and "1" in right
    ]
    assert set(found) == set(numbers)
    places = [found.count(text) / len(found) for text in numbers]
    expected = [1 / 3 / sum(t.index("2") == text.index("2") for t in numbers) for text in numbers]
    assert places == pytest.approx(expected, abs=0.01)


def test_roots_are_of_uniform_numbers_but_0(make):
    strings_BN = make("square-root").sample(Stream("numbers"), 3, 14_000)
    counts = np.bincount(strings_BN @ [4, 2, 1], minlength=8)
    assert counts[0] == 0
    assert counts[1:] / 14_000 == pytest.approx([1 / 7] * 7, abs=0.012)


@pytest.mark.parametrize("name", ["copy", "sort"])
def test_different_symbols_in_any_order(make, name):
    function = make(name)
    assert [function.has_length(length) for length in (150, 151)] == [True, False]
    strings_BN = function.sample(Stream("different"), 150, 20)
    assert (np.sort(strings_BN, axis=1) == np.arange(150)).all()
    pairs_B2 = function.sample(Stream("pairs"), 2, 30_000)
    assert (pairs_B2[:, 0] != pairs_B2[:, 1]).all()
    assert np.bincount(pairs_B2[:, 0], minlength=150) / 200 == pytest.approx([1] * 150, abs=0.35)
    assert (pairs_B2[:, 0] < pairs_B2[:, 1]).mean() == pytest.approx(0.5, abs=0.012)


def test_stacks_drawn_have_every_size(make):
    strings_BN = make("stack-manipulation").sample(Stream("stacks"), 5, 20_000)
    sizes = np.bincount((strings_BN < 2).sum(axis=1), minlength=6)
    assert sizes[[0, 5]].tolist() == [0, 0]
    assert sizes[1:5] / 20_000 == pytest.approx([0.25] * 4, abs=0.012)
    actions = np.bincount(strings_BN[strings_BN > 1], minlength=5)[2:]
    assert actions / actions.sum() == pytest.approx([1 / 3] * 3, abs=0.012)
