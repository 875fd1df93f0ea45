"""Dyck-k and Dyck-(k, D), and the process of Hewitt et al. (2020) that generates them.

At depth 0 it opens (each type with probability 1/(2k)) or ends (1/2); between, it opens (each
type 1/(2k)) or closes the innermost bracket (1/2); at the greatest depth it closes.

Reference: Hewitt et al. (2020), "RNNs can generate bounded hierarchical languages with optimal
    memory", section 6; Yao et al. (2021), appendix D.1, Table 1.

Every operation takes all strings at once, in time nearly linear in their length.
`formalbench_tasks.dyck.brackets` reads them and draws their shapes,
`formalbench_tasks.dyck.near_misses` corrupts them.

Legend: B strings, N positions, T symbols of all strings, P = N+1 prefixes, S = 2k symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import (
    HasAutomaton,
    HasBrackets,
    HasMembers,
    HasNearMisses,
    HasParts,
    HasPrefixClasses,
    HasProcess,
    Labels,
    Language,
    Mask,
    Probabilities,
    Split,
    Stream,
    Strings,
    Symbols,
)
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.automata.automaton import Automaton, from_table
from formalbench_tasks.automata.paths import FEW
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck import brackets
from formalbench_tasks.dyck.brackets import Shapes, dress
from formalbench_tasks.dyck.near_misses import BracketNonMembers, NearMisses
from formalbench_tasks.index import task
from formalbench_tasks.limits import check_length
from formalbench_tasks.near_misses import Draw, in_balance
from formalbench_tasks.partition import draw_of

_ANNOUNCED: dict[str, Any] = {
    "version": 2,
    "config": DyckConfig,
    "objectives": ("classify", "tag", "next-symbols", "generate"),
    "splits": Splits(train=(2, 50), test=(52, 100), step=2),  # at odd lengths nothing is in
}

Window = tuple[int, int]
"""The least and the greatest length, END included."""

PUBLISHED = {3: 84, 5: 180, 10: 700, 15: 1620}
"""The greatest training length by depth, END included (Yao et al., Table 1)."""

TOGETHER = 4096
"""Strings that are drawn at once; the corpus depends on it."""


def windows(depth: int) -> tuple[Window, Window]:
    """Return the windows of training and of test lengths for a greatest depth.

    Those of the papers for depths 3, 5, 10 and 15. They grow with the square of the depth, as
    the time does that a walk takes to see all depths; so the others are ours: 7·depth², at least
    40 and at most what depth 15 has. Test strings are longer, and up to twice as long.
    """
    most = max(PUBLISHED.values())
    longest = PUBLISHED.get(depth, min(max(7 * depth * depth, 40), most))
    return (1, longest), (longest + 1, 2 * longest)


def length_distribution(deepest: int | None, longest: int) -> Probabilities:
    """Return the probability of each length from 0, END not counted, (longest + 1,).

    They fall off exponentially if the depth is bounded, with N^(-3/2) if it is not.
    """
    check_length(longest)
    # Without a bound as with one that cannot be reached.
    top = longest // 2 + 1 if deepest is None else min(deepest, longest // 2 + 1)
    at_D, shares = np.zeros(top + 1), np.zeros(longest + 1)
    at_D[0] = 1.0
    for length in range(longest + 1):
        shares[length] = at_D[0] / 2
        half_D = at_D / 2
        before_D, at_D = at_D, np.zeros(top + 1)
        at_D[1:] = half_D[:-1]
        at_D[: top - 1] += half_D[1:top]
        at_D[top - 1] += before_D[top]  # at the greatest depth there is nothing else to do
    return shares


def draw_corpus(
    stream: Stream, types: int, deepest: int | None, window: Window, tokens: int
) -> Strings:
    """Draw strings one after another until they have `tokens` tokens, END included.

    Before the least length the process is not let end: it draws again, and so opens. A string
    that has not ended by the greatest length is dropped.

    Args:
        stream: where every number comes from.
        types: how many types of brackets there are.
        deepest: the greatest depth; None for no bound.
        window: of lengths, END included.
        tokens: the last string completes this number.

    Raises:
        RequestError: for a window that no string fits into, or no tokens.
    """
    shortest, longest = window
    check_length(longest)
    fits = 1 <= shortest <= longest and (shortest < longest or shortest % 2 == 1)
    if not fits:  # with END, lengths are odd
        raise RequestError(f"no bracket string has {shortest} to {longest} symbols with its end")
    if tokens < 1:
        raise RequestError(f"{tokens} tokens: ask for at least 1")
    parts, missing = [], tokens
    while missing > 0:
        opens_T, lengths_B = _draw_shapes(stream, deepest, window)
        enough = int(np.searchsorted(np.cumsum(lengths_B + 1), missing)) + 1
        lengths_B = lengths_B[:enough]
        opens_1T = opens_T[None, : int(lengths_B.sum())]
        # Balanced strings after one another are one balanced string.
        symbols_1T = dress(opens_1T, stream.integers(types, (1, opens_1T.shape[1] // 2)))
        parts.append(Strings(symbols_1T[0], lengths_B))
        missing -= int((lengths_B + 1).sum())
    return Strings(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _draw_shapes(stream: Stream, deepest: int | None, window: Window) -> tuple[Mask, Labels]:
    """Draw `TOGETHER` shapes; return those that fit: where they open, (T,), and lengths, (B,)."""
    shortest, longest = window
    opens_NB = np.zeros((longest, TOGETHER), dtype=np.bool_)
    lengths_B = np.full(TOGETHER, -1, dtype=np.int64)
    going = np.arange(TOGETHER)
    depths_G = np.zeros(TOGETHER, dtype=np.int64)
    for position in range(longest):
        heads_G = stream.integers(2, len(going)) == 1
        if position + 1 >= shortest:
            ends_G = heads_G & (depths_G == 0)
            lengths_B[going[ends_G]] = position
            going, depths_G, heads_G = going[~ends_G], depths_G[~ends_G], heads_G[~ends_G]
        opens_G = heads_G | (depths_G == 0)
        if deepest is not None:
            opens_G &= depths_G < deepest
        opens_NB[position, going] = opens_G
        depths_G += 2 * opens_G - 1
        # Strings that cannot return to depth 0 in time are dropped.
        back_G = depths_G < longest - position - 1
        going, depths_G = going[back_G], depths_G[back_G]
        if not len(going):
            break
    inside_BN = np.arange(longest) < lengths_B[:, None]
    return opens_NB.T[inside_BN], lengths_B[lengths_B >= 0]


PAIRS = ("()", "[]", "{}", "<>")

MOST = (500, 1_000)
"""The most types, and the greatest depth that can be asked for."""

_ONE = Theory(
    "counter",
    c_rasp=True,
    context_free=True,
    note="Fischer et al. (1968); C-RASP: Yang and Chiang (2024)",
)

_MANY = Theory(
    "context-free",
    c_rasp=False,
    c_rasp_last=False,
    note="Chomsky and Schützenberger (1963); counts do not tell what is open: Huang et al. (2025)",
)

MOST_STATES = 4_096
"""Maximum states of a bounded language's automaton: one for each stack, and a dead one."""


@task(
    "dyck-{k}",
    "balanced brackets of k types",
    **_ANNOUNCED,
    reference="Chomsky and Schützenberger (1963)",
    theory=replace(
        Theory.least(
            "context-free",
            "Chomsky and Schützenberger (1963); with one type a counter language in C-RASP",
        ),
        c_rasp=False,
        c_rasp_last=False,
    ),
)
@task(
    "dyck-{k}-{D}",
    "balanced brackets of k types, nested at most D deep",
    **_ANNOUNCED,
    reference="Hewitt et al. (2020); Yao et al. (2021), section 3.1",
    theory=Theory.least(
        "c-rasp",
        "two rounds of the decision procedure of arXiv:2608.13433 tell all stacks apart "
        "(docs/theory.md has the proof)",
    ),
)
class Dyck(
    Language,
    HasPrefixClasses,
    HasMembers,
    HasNearMisses,
    HasProcess,
    HasBrackets,
    HasAutomaton,
    HasParts,
):
    """Strings of k types of brackets in which every bracket is matched by its own kind.

    Type t opens with the symbol 2t and closes with 2t+1: ``( ) [ ] { } < >`` for k up to 4,
    ``(1 )1 (2 )2 …`` beyond.

    Members are uniform: the shape among all of the length, types of pairs uniform and
    independent. Non-members are of many kinds, three quarters of them balanced type by type
    (`BracketNonMembers`). The splits offer even lengths only: at odd ones rejecting all is right.

    Args:
        config: says which non-members are drawn at even lengths: ``mixed``, as said above, or
            ``changed``, members with one symbol changed. Of these the brackets of some type do
            not add up, so that counting tells them: no nesting need be seen. And whether
            strings to classify or tag are kept apart by what they are for (`part`).
        k: how many types of brackets there are.
        D: the greatest depth; None for no bound.

    Raises:
        RequestError: if k or D is 0 or beyond reason.
    """

    def __init__(self, config: DyckConfig, k: int, D: int | None = None) -> None:
        fields = (k,) if D is None else (k, D)
        nearest = [min(max(f, 1), most) for f, most in zip(fields, MOST, strict=False)]
        if list(fields) != nearest:
            name, near = ("-".join(map(str, ("dyck", *numbers))) for numbers in (fields, nearest))
            raise RequestError(
                f"task {name}: 1 to {MOST[0]} types of brackets, depth 1 to {MOST[1]}: try {near}"
            )
        pairs = PAIRS[:k] if k <= len(PAIRS) else [(f"({t}", f"){t}") for t in range(1, k + 1)]
        self.alphabet = tuple(symbol for pair in pairs for symbol in pair)
        self.closes = range(1, 2 * k, 2)
        self.types = k
        self.deepest = D
        self.outside = config.outside
        self.split = config.split
        self._for: Split | None = None
        if D is None:
            self.theory = _ONE if k == 1 else _MANY
        self.shapes = Shapes(D)

        def is_member(strings_BN: Symbols) -> Mask:
            inside_B: Mask = self.classify(strings_BN) == 1
            return inside_B

        self.misses = NearMisses(k, D, self.sample_members, is_member)
        self._non_members = BracketNonMembers(2 * k, self.sample_members, is_member, self.misses)

    def splits(self, objective: str) -> Splits | None:
        """Return the papers' windows for `generate`, the empty string left out."""
        if objective != "generate" or self.deepest is None:
            return None
        (_, train), (_, test) = windows(self.deepest)
        # A window counts END; the first even length past the training window begins the test.
        return Splits(train=(2, train - 1), test=(train + train % 2, test - 1), step=2)

    # What is in, and what may follow.

    def oracle(self, string: Sequence[int]) -> int:
        """Keep a stack."""
        expected: list[str] = []
        for symbol in string:
            bracket = self.alphabet[symbol]
            if bracket[0] in "([{<":
                expected.append({"(": ")", "[": "]", "{": "}", "<": ">"}[bracket[0]] + bracket[1:])
                if self.deepest is not None and len(expected) > self.deepest:
                    return 0
            elif not expected or expected.pop() != bracket:
                return 0
        return int(not expected)

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        if len(strings_BN) <= FEW:
            inside = [self._has(string_N.tolist()) for string_N in strings_BN]
            return np.array(inside, dtype=np.int64)
        read = brackets.read(strings_BN, self.deepest)
        inside_B: Mask = read.legal[:, -1] & (read.depths[:, -1] == 0)
        return inside_B.astype(np.int64)

    def _has(self, string: list[int]) -> bool:
        """Say whether a string is a member, which is faster for a few than all at once."""
        closes: list[int] = []
        for symbol in string:
            if symbol % 2 == 0:
                closes.append(symbol + 1)
                if self.deepest is not None and len(closes) > self.deepest:
                    return False
            elif not closes or closes.pop() != symbol:
                return False
        return not closes

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""
        read = brackets.read(strings_BN, self.deepest)
        inside_BP: Mask = read.legal & (read.depths == 0)
        return inside_BP[:, 1:].astype(np.int64)

    def open_brackets(self, strings_BN: Symbols) -> tuple[Labels, Labels]:
        """Return type and position of the innermost open bracket after every prefix, (B, N+1)."""
        read = brackets.read(strings_BN, self.deepest)
        tops_BP = np.where(read.legal, read.tops, -1)
        types_BP = np.full_like(tops_BP, -1)
        rows, prefixes = np.nonzero(tops_BP >= 0)
        types_BP[rows, prefixes] = strings_BN[rows, tops_BP[rows, prefixes]] // 2
        return types_BP, tops_BP

    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix, the empty one first, (B, N+1, S+1)."""
        read = brackets.read(strings_BN, self.deepest)
        types_BP, _ = self.open_brackets(strings_BN)
        allowed = np.zeros((*types_BP.shape, len(self.alphabet) + 1), dtype=np.bool_)
        shallow_BP = True if self.deepest is None else read.depths < self.deepest
        allowed[:, :, :-1:2] = (read.legal & shallow_BP)[:, :, None]
        rows, prefixes = np.nonzero(types_BP >= 0)
        allowed[rows, prefixes, 2 * types_BP[rows, prefixes] + 1] = True
        allowed[:, :, -1] = read.legal & (read.depths == 0)
        return allowed

    def next_distribution(self, strings_BN: Symbols) -> Probabilities:
        """Return what follows every prefix in the process, (B, N+1, S+1)."""
        allowed = self.next_symbols(strings_BN)
        may_open_BP1 = allowed[:, :, :1]
        shares = np.where(may_open_BP1, allowed * 0.5, allowed)
        shares[:, :, :-1:2] /= self.types
        return shares

    # What is drawn.

    def part(self, split: Split) -> Dyck:
        """Return the language whose `sample` draws what is for a split."""
        if self.split == "by-length":
            return self
        part = copy(self)
        part._for = split
        return part

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        if not self._mixed(length):
            draw = self.sample_members if self.has_members(length) else self._outside
            return self._own(draw, stream, length, count)
        members, outside = (
            partial(self._own, self.sample_members),
            partial(self._own, self._outside),
        )
        return in_balance(stream, length, count, members, outside)

    def _own(self, draw: Draw, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings that are for this part of the language, (count, length)."""
        if self._for is None:
            return draw(stream, length, count)
        return draw_of(self._for, draw, stream, length, count)

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of out and in among `sample`'s strings of this length."""
        if self._mixed(length):
            return (0.5, 0.5)
        return (0.0, 1.0) if self.has_members(length) else (1.0, 0.0)

    def near_misses(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw near misses of every kind there is (`NearMisses`), in turn; (count, length)."""
        check_length(length)
        return self.misses.draw(stream, length, count)

    def has_members(self, length: int) -> bool:
        """Return whether the length is even."""
        return self.shapes.exist(length)

    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, uniformly; (count, length).

        Raises:
            ValueError: if there is none.
        """
        return self._dress(stream, self.shapes.uniform(stream, length, count))

    def sample_generated(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw what the process generates, given that it has this length; (count, length).

        From the papers' test window on the process must not end before the window begins, as
        in `sample_corpus`; shorter strings are those of a process that may end anywhere.
        """
        min_length = 0
        if self.deepest is not None:
            first = windows(self.deepest)[1][0] - 1  # END not counted
            min_length = first if length >= first else 0
        return self._dress(stream, self.shapes.generated(stream, length, count, min_length))

    def sample_corpus(self, stream: Stream, window: tuple[int, int], tokens: int) -> Strings:
        """Draw what the process generates within a window of lengths."""
        return draw_corpus(stream, self.types, self.deepest, window, tokens)

    def length_distribution(self, longest: int) -> Probabilities:
        """Return how probable each length is in the process, (longest + 1,)."""
        return length_distribution(self.deepest, longest)

    def _dress(self, stream: Stream, opens_BN: Mask) -> Symbols:
        count, length = opens_BN.shape
        return brackets.dress(opens_BN, stream.integers(self.types, (count, length // 2)))

    def _mixed(self, length: int) -> bool:
        return length > 0 and self.has_members(length)

    def _outside(self, stream: Stream, length: int, count: int) -> Symbols:
        if self.outside == "changed" and self.has_members(length):
            return self.misses.changed(stream, length, count)
        return self._non_members.draw(stream, length, count)

    # As an automaton.

    @cached_property
    def automaton(self) -> Automaton:
        """The minimal automaton of a bounded language: a state for each stack, and a dead one.

        Raises:
            AttributeError: if the depth has no bound, or there are more than `MOST_STATES`.
        """
        states = sum(self.types**depth for depth in range((self.deepest or 0) + 1)) + 1
        if self.deepest is None or states > MOST_STATES:
            raise AttributeError(f"no automaton of at most {MOST_STATES} states has this language")
        numbers = {
            stack: number
            for number, stack in enumerate(
                stack
                for depth in range(self.deepest + 1)
                for stack in product(range(self.types), repeat=depth)
            )
        }
        dead = len(numbers)
        rows = [
            [
                following
                for bracket in range(self.types)
                for following in (
                    numbers.get((*stack, bracket), dead),
                    numbers[stack[:-1]] if stack[-1:] == (bracket,) else dead,
                )
            ]
            for stack in numbers
        ]
        return from_table([*rows, [dead] * len(self.alphabet)], [1, *[0] * dead])
