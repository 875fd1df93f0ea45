"""The word problem of a group: the product of a string of its elements.

Legend: B strings, N symbols, S symbols in the alphabet, G elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from formalbench import RequestError, Splits
from formalbench.contracts.language import HasAutomaton, HasPrefixClasses, Language
from formalbench.contracts.source import Labels, Probabilities, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.automaton import Automaton
from formalbench_tasks.configs import GroupConfig
from formalbench_tasks.groups.permutations import (
    PermutationGroup,
    alternating,
    cyclic,
    direct_product,
    symmetric,
)
from formalbench_tasks.limits import check_length

SMALLEST, LARGEST = 2, 60  # cyclic groups

_MOVED = {"swaps": 2, "three": 3}
"""By how an option is called, how many points an element may move."""


class WordProblem(Language, HasPrefixClasses, HasAutomaton):
    """The class of a string of elements is the number of their product.

    A regular language for every class; with S5 and A5, which are not solvable, as hard as any
    (NC1-complete). Symbols are uniform and independent. They are the numbers of elements, in
    the order of `formalbench_tasks.groups.permutations`: 0 is the identity, and the product
    g1·g2·…·gt of permutations lets gt move a point first and g1 last. Numbers and products of
    symmetric groups are those of the reference's code.

    With `tokens` above 1, every element is followed by blanks ``_``, which change nothing, so
    that a network has as many steps for each.

    Args:
        group: whose elements are multiplied.
        config: which of its elements are symbols, and how many tokens there are for each.

    Reference: Merrill et al. (2024), "The illusion of state in state-space models", and its code
        for S5, A5, Z60 and A4xZ5; restricted symbols and several tokens: Grazzi et al. (2024),
        section 5.2.
    """

    def __init__(self, group: PermutationGroup, config: GroupConfig) -> None:
        self.group, self.tokens = group, config.tokens
        self._chosen = np.array(_symbols(group, config.symbols))
        blank = ("_",) if self.tokens > 1 else ()
        self.alphabet = (*map(str, self._chosen.tolist()), *blank)
        self.num_classes = len(group.elements)

    @cached_property
    def automaton(self) -> Automaton:
        """The minimal automaton: the state is the product so far."""
        elements = np.append(self._chosen, 0) if self.tokens > 1 else self._chosen
        moves_GS = np.ascontiguousarray(self.group.table[:, elements])
        return Automaton(moves_GS, np.arange(self.num_classes, dtype=np.int64))

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform elements, each with its blanks, (count, length)."""
        check_length(length)
        drawn = -(-length // self.tokens)
        strings_BN = np.full((count, length), len(self._chosen), dtype=np.int64)
        strings_BN[:, :: self.tokens] = stream.integers(len(self._chosen), (count, drawn))
        return strings_BN

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the number of each string's product, (B,)."""
        return self.automaton.classify(strings_BN)

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the number of the product of every non-empty prefix, (B, N)."""
        return self.automaton.classify_prefixes(strings_BN)

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of each product among the strings drawn."""
        check_length(length)
        drawn = -(-length // self.tokens)
        while len(self._distributions) <= drawn:
            self._distributions.append(self._distributions[-1][self._before].mean(axis=0))
        return tuple(self._distributions[drawn].tolist())

    def splits(self, objective: str) -> Splits | None:
        """Train on twice the length where an element has several tokens, as the reference does."""
        return Splits(train=(1, 64), test=(65, 500)) if self.tokens > 1 else None

    def oracle(self, string: Sequence[int]) -> int:
        """Follow every point from the last element to the first."""
        moves = [self.alphabet[symbol] for symbol in string]
        elements = [self.group.elements[int(move)] for move in moves if move != "_"]
        images = []
        for point in range(len(self.group.elements[0])):
            for element in reversed(elements):
                point = element[point]
            images.append(point)
        return self.group.elements.index(tuple(images))

    @cached_property
    def _distributions(self) -> list[Probabilities]:
        """How probable each product is after so many elements, as far as anybody asked."""
        return [np.eye(1, self.num_classes)[0]]

    @cached_property
    def _before(self) -> Labels:
        """For each symbol, which element it was that is now each element, (S, G)."""
        return np.argsort(self.group.table[:, self._chosen], axis=0).T


def _symbols(group: PermutationGroup, which: str) -> tuple[int, ...]:
    if which == "all":
        return tuple(range(len(group.elements)))
    if which == "generators":
        return group.steps()
    if not group.natural:
        raise RequestError(f"symbols={which}: this group has none; take all or generators")
    found = group.moving(_MOVED[which])
    if len(found) == 1:
        raise RequestError(f"symbols={which}: this group has none; take all, generators or three")
    return found


def cyclic_group(config: GroupConfig, n: int) -> WordProblem:
    """Return the word problem of Z_n.

    Raises:
        RequestError: unless n is within 2 … 60.
    """
    if not SMALLEST <= n <= LARGEST:
        raise RequestError(f"group-z{n}: n must be within {SMALLEST} … {LARGEST}")
    return WordProblem(cyclic(n), config)


def s3(config: GroupConfig) -> WordProblem:
    """Return the word problem of S3."""
    return WordProblem(symmetric(3), config)


def s4(config: GroupConfig) -> WordProblem:
    """Return the word problem of S4."""
    return WordProblem(symmetric(4), config)


def s5(config: GroupConfig) -> WordProblem:
    """Return the word problem of S5."""
    return WordProblem(symmetric(5), config)


def a4(config: GroupConfig) -> WordProblem:
    """Return the word problem of A4."""
    return WordProblem(alternating(4), config)


def a5(config: GroupConfig) -> WordProblem:
    """Return the word problem of A5."""
    return WordProblem(alternating(5), config)


def a4xz5(config: GroupConfig) -> WordProblem:
    """Return the word problem of A4 × Z5."""
    return WordProblem(direct_product(alternating(4), cyclic(5)), config)
