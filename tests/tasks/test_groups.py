"""Groups: their axioms, their numbering, and products against compositions written out here."""

from itertools import permutations

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench_tasks.configs import GroupConfig
from formalbench_tasks.languages.groups import (
    WordProblem,
    alternating,
    cyclic,
    cyclic_group,
    direct_product,
    inverse,
    symmetric,
)

GROUPS = {
    "z2": (cyclic(2), 2),
    "z5": (cyclic(5), 5),
    "z60": (cyclic(60), 60),
    "s3": (symmetric(3), 6),
    "s4": (symmetric(4), 24),
    "s5": (symmetric(5), 120),
    "a4": (alternating(4), 12),
    "a5": (alternating(5), 60),
    "a4xz5": (direct_product(alternating(4), cyclic(5)), 60),
}


@pytest.fixture(params=sorted(GROUPS))
def group(request):
    return GROUPS[request.param][0]


def test_generators_generate(group):
    steps = group.steps()
    reached, frontier = {0}, [0]
    while frontier:
        found = {int(group.table[a, s]) for a in frontier for s in steps} - reached
        reached |= found
        frontier = sorted(found)
    assert len(reached) == len(group.elements)
    inverses = {group.numbers[inverse(group.elements[s])] for s in steps}
    assert inverses == set(steps)


def even(images):
    swaps, images = 0, list(images)
    for place in range(len(images)):
        while images[place] != place:
            other = images[place]
            images[place], images[other] = images[other], images[place]
            swaps += 1
    return swaps % 2 == 0


@pytest.mark.parametrize("n", [3, 4, 5])
def test_permutations_are_numbered_in_lexicographic_order(n):
    every = sorted(permutations(range(n)))
    assert list(symmetric(n).elements) == every
    assert list(alternating(n).elements) == [p for p in every if even(p)]


def test_products_of_symmetric_groups_let_the_last_move_first():
    group = symmetric(3)
    swap, cycle = group.numbers[1, 0, 2], group.numbers[1, 2, 0]
    # by hand: the cycle takes 0 to 1 and the swap takes that to 0, so 0 stays
    assert group.elements[group.table[swap, cycle]] == (0, 2, 1)
    assert group.elements[group.table[cycle, swap]] == (2, 1, 0)


def test_pairs_are_numbered_by_the_first():
    table = GROUPS["a4xz5"][0].table
    a4 = alternating(4).table
    for a, b in Stream("pairs").integers(60, (200, 2)).tolist():
        assert table[a, b] == 5 * a4[a // 5, b // 5] + (a + b) % 5


@pytest.mark.parametrize("symbols", ["all", "generators", "swaps", "three"])
@pytest.mark.parametrize("tokens", [1, 4])
def test_labels_are_products_of_tuples(symbols, tokens):
    language = WordProblem(symmetric(5), GroupConfig(symbols=symbols, tokens=tokens))
    every = sorted(permutations(range(5)))
    strings_BN = language.sample(Stream("products"), 30, 10)
    tags_BN = language.classify_prefixes(strings_BN)
    for string, tags in zip(strings_BN.tolist(), tags_BN.tolist(), strict=True):
        product_so_far = (0, 1, 2, 3, 4)
        for place, (symbol, tag) in enumerate(zip(string, tags, strict=True)):
            shown = language.alphabet[symbol]
            assert (shown == "_") == (place % tokens > 0)
            if shown != "_":
                step = every[int(shown)]
                product_so_far = tuple(product_so_far[image] for image in step)
            assert every[tag] == product_so_far
    assert language.classify(strings_BN).tolist() == tags_BN[:, -1].tolist()
    assert [language.oracle(string) for string in strings_BN.tolist()] == tags_BN[:, -1].tolist()


def test_restricted_symbols(make):
    sizes = {
        symbols: len(make("group-s5", symbols=symbols).alphabet)
        for symbols in ("all", "generators", "swaps", "three")
    }
    # by hand: 10 swaps, 20 cycles of three points, and the identity
    assert sizes == {"all": 120, "generators": 4, "swaps": 11, "three": 31}
    assert len(make("group-a5", symbols="generators").alphabet) == 7
    assert len(make("group-a5", symbols="three").alphabet) == 21
    assert make("group-s5", symbols="swaps", tokens=4).alphabet[-1] == "_"
    assert cyclic_group(GroupConfig(symbols="generators"), 5).alphabet == ("0", "1", "4")


@pytest.mark.parametrize("options", [{}, {"symbols": "generators"}, {"symbols": "swaps"}])
@pytest.mark.parametrize("tokens", [1, 2])
def test_class_distribution_is_the_share_of_every_product(every_string, options, tokens):
    language = WordProblem(symmetric(3), GroupConfig(**options, tokens=tokens))
    length = 4 * tokens
    strings_BN = every_string(len(language.alphabet) - (tokens > 1), 4)
    found = np.bincount(language.classify(strings_BN), minlength=6) / len(strings_BN)
    assert language.class_distribution(length) == pytest.approx(found, abs=1e-12)
    assert language.class_distribution(0) == (1, 0, 0, 0, 0, 0)
    assert language.class_distribution(length - 1) == pytest.approx(
        language.class_distribution(length) if tokens > 1 else language.class_distribution(3)
    )


def test_parity_is_z2(make):
    z2 = cyclic_group(GroupConfig(), 2)
    strings_BN = Stream("z2").integers(2, (50, 30))
    assert z2.classify(strings_BN).tolist() == make("parity").classify(strings_BN).tolist()


def test_a_walk_on_a_cycle_is_z5(make):
    z5, walk = cyclic_group(GroupConfig(symbols="generators"), 5), make("cycle-navigation")
    strings_BN = Stream("z5").integers(3, (50, 30))
    names = {"0": ".", "1": "+", "4": "-"}
    same = np.array([walk.alphabet.index(names[symbol]) for symbol in z5.alphabet])
    assert z5.classify(strings_BN).tolist() == walk.classify(same[strings_BN]).tolist()
