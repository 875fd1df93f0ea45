"""The stream: pinned for ever, exactly uniform, and named by its key."""

import hashlib
import json

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from scipy.stats import chisquare

MASK = (1 << 64) - 1


def philox(key: tuple[int, int], count: int) -> list[int]:
    """Philox 4x64-10 in plain integers (Salmon et al. 2011), its counter from 1."""
    drawn: list[int] = []
    counter = 0
    while len(drawn) < count:
        counter += 1
        x = [counter, 0, 0, 0]
        k = list(key)
        for _ in range(10):
            left, right = 0xD2E7470EE14C6C93 * x[0], 0xCA5A826395121157 * x[2]
            x = [(right >> 64) ^ x[1] ^ k[0], right & MASK, (left >> 64) ^ x[3] ^ k[1], left & MASK]
            k = [(k[0] + 0x9E3779B97F4A7C15) & MASK, (k[1] + 0xBB67AE8584CAA73B) & MASK]
        drawn += x
    return drawn[:count]


@pytest.mark.parametrize("key", [(), ("test", "parity", 1), ({"p": 0.5}, [1, 2], "ü")])
def test_raw_is_philox_keyed_by_the_hash_of_the_key(key):
    text = json.dumps(key, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).digest()
    words = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")
    assert Stream(*key).raw(11).tolist() == philox(words, 11)


def test_golden_values():
    stream = Stream("test", "parity", 1)
    assert stream.raw(3).tolist() == [
        17863557047685999334,
        9848357201873857341,
        2392786725943659747,
    ]
    assert Stream("test", "parity", 1).integers(5, 12).tolist() == [
        4, 2, 0, 3, 3, 4, 0, 0, 1, 3, 2, 0
    ]  # fmt: skip
    assert Stream("test", "parity", 1).uniform(3).tolist() == [
        0.9683853679709952,
        0.5338805136842449,
        0.1297132283281296,
    ]
    assert Stream("a").integers(3, (2, 3)).tolist() == [[1, 1, 0], [1, 1, 0]]


def test_equal_keys_give_equal_streams_and_others_do_not():
    keys = [("a",), ("b",), ("a", 1), ("a", "1"), ("a", [1]), (["a", 1],), ({"a": 1},), ()]
    drawn = {tuple(Stream(*key).raw(4).tolist()) for key in keys}
    assert len(drawn) == len(keys)
    assert Stream({"a": 1, "b": 2}).raw(4).tolist() == Stream({"b": 2, "a": 1}).raw(4).tolist()


def test_a_child_starts_afresh_whatever_its_parent_drew():
    parent = Stream("a")
    before = parent.child("b", 1).raw(5).tolist()
    parent.raw(7)
    assert parent.child("b", 1).raw(5).tolist() == before
    assert Stream("a", "b", 1).raw(5).tolist() == before
    assert parent.child("b", 1).key == ("a", "b", 1)


@pytest.mark.parametrize("high", [1, 2, 3, 5, 8, 10, 97])
def test_integers_are_uniform_on_their_support(high):
    drawn = Stream("uniform", high).integers(high, 200 * high)
    assert drawn.dtype == np.int64
    counts = np.bincount(drawn, minlength=high)
    assert len(counts) == high
    assert counts.min() > 0
    if high > 1:
        assert chisquare(counts).pvalue > 1e-4


def test_integers_reject_what_would_make_them_uneven():
    # With high = 3·2^30 a quarter of the raw numbers is surplus: without rejection a third of
    # the values (every third residue) would come twice as often as the others.
    high = 3 << 30
    drawn = Stream("rejection").integers(high, 30_000)
    assert drawn.min() >= 0
    assert drawn.max() < high
    assert chisquare(np.bincount(drawn % 3, minlength=3)).pvalue > 1e-4
    assert chisquare(np.bincount(drawn >> 30, minlength=3)).pvalue > 1e-4


def test_integers_follow_lemire_word_by_word():
    high = (1 << 31) + 1  # nearly half of the raw numbers is rejected
    stream, other = Stream("lemire"), Stream("lemire")
    words = [int(word) >> 32 for word in other.raw(8)]
    threshold = (1 << 32) % high
    products = [word * high for word in words]
    while any(product % (1 << 32) < threshold for product in products):
        bad = [i for i, product in enumerate(products) if product % (1 << 32) < threshold]
        for index, word in zip(bad, other.raw(len(bad)), strict=True):
            products[index] = (int(word) >> 32) * high
    assert stream.integers(high, 8).tolist() == [product >> 32 for product in products]


def test_integers_take_shapes_and_refuse_impossible_ranges():
    assert Stream().integers(2, (3, 0)).shape == (3, 0)
    assert Stream().integers(2, 0).shape == (0,)
    assert Stream().integers(1, (2, 2)).tolist() == [[0, 0], [0, 0]]
    assert Stream().integers(1 << 32, 4).max() < 1 << 32
    for high in (0, -1, (1 << 32) + 1):
        with pytest.raises(ValueError, match="high"):
            Stream().integers(high, 1)


@pytest.mark.parametrize("highs", [[5], [3, 2, 7], [2, (1 << 31) + 1, 3 << 30, 1, 1 << 32], []])
def test_integers_of_each_are_those_of_one_call_after_another(highs):
    for count in (0, 1, 40):
        together, alone = Stream("each", count), Stream("each", count)
        drawn = together.integers_each(highs, count)
        assert drawn.shape == (len(highs), count)
        assert drawn.tolist() == [alone.integers(high, count).tolist() for high in highs]
        assert together.raw(2).tolist() == alone.raw(2).tolist()
    with pytest.raises(ValueError, match="high"):
        Stream().integers_each([2, 0], 1)


def test_uniform_floats_are_multiples_of_two_to_the_minus_53():
    drawn = Stream("floats").uniform((40, 50))
    assert drawn.shape == (40, 50)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    scaled = drawn * 2.0**53
    assert np.array_equal(scaled, np.floor(scaled))
    assert (scaled % 2 == 1).any()  # down to the last bit
    assert chisquare(np.bincount((drawn * 20).astype(int).ravel(), minlength=20)).pvalue > 1e-4


def test_one_bound_for_each_integer():
    highs = np.array([[1, 2, 5], [1 << 32, 3, 7]])
    drawn = np.array([Stream("below", key).below(highs) for key in range(3000)])
    assert drawn.dtype == np.int64
    assert ((drawn >= 0) & (drawn < highs)).all()
    for place, high in (((0, 1), 2), ((0, 2), 5), ((1, 1), 3), ((1, 2), 7)):
        counts = np.bincount(drawn[:, place[0], place[1]], minlength=high)
        assert chisquare(counts).pvalue > 1e-4
    assert (
        Stream("a").below(np.full((2, 3), 3)).tolist()
        == Stream("a").integers(3, 6).reshape(2, 3).tolist()
    )
    assert Stream("a").below(np.zeros(0, dtype=np.int64)).shape == (0,)


def test_a_bound_that_does_not_divide_the_range_rejects():
    high = 3 << 30  # of the 32-bit integers a quarter is too many
    drawn = Stream("rejected").below(np.full(40_000, high))
    assert chisquare(np.bincount(drawn >> 28, minlength=12)).pvalue > 1e-4
    assert drawn.max() < high


@pytest.mark.parametrize("high", [0, -1, (1 << 32) + 1])
def test_bounds_have_bounds(high):
    with pytest.raises(ValueError, match="highs must be within"):
        Stream("a").below(np.array([3, high]))
