"""The objective ``next-symbols``: legal symbols after each prefix (Bhattamishra et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.network import Example
from formalbench.contracts.objective import SURE, Patience, Promise, demand
from formalbench.contracts.source import HasMembers, Language, Stream, Symbols
from formalbench.metrics.answers import (
    CrossEntropy,
    StringAccuracy,
    bit_nats,
    bit_right,
    mean_scored,
    spread_scored,
)
from formalbench.objectives.answers import (
    END,
    WholeString,
    check_members,
    first_difference,
    least_margin,
)

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.objective import Metric
    from formalbench.contracts.task import Task

NOTHING = "!"

MAX_STRINGS = 3000
"""Strings, with their extensions, in a check of one length."""


class NextSymbols(WholeString):
    """After every prefix, the empty one first, the set of legal next symbols, multi-hot.

    Logits are (B, N+1, S+1): one per symbol, and one for "may end here"; a positive one says
    legal. Targets are bool and of the same shape. Strings are members. Every bit is an answer; a
    string is correct if every bit at every position is.
    """

    name = "next-symbols"
    layout = "prefixes"
    needs = (Language, HasMembers)
    only_viable = True

    def answers(self, source: Any) -> tuple[str, ...]:
        """Return the symbols and END."""
        return (*source.alphabet, END)

    def has_length(self, source: Any, length: int) -> bool:
        """Return whether the language has members of this length."""
        return length >= 0 and bool(source.has_members(length))

    def strings(self, source: Any, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members uniformly."""
        members: Symbols = source.sample_members(stream, length, count)
        return members

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for the legal symbols after every prefix, (B, N+1, S+1) bool."""
        return Example(strings_BN, source.next_symbols(strings_BN))

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean binary cross-entropy over all bits in nats."""
        return mean_scored(bit_nats(logits, example.targets), example.scored)

    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Return the accuracies of strings and bits, and cross-entropy per bit."""
        return StringAccuracy(bit_right), CrossEntropy(bit_nats)

    def show(self, source: Any, string: Symbols) -> str:
        """Return the sets, separated by spaces; ``$`` says "may end", ``!`` is the empty set."""
        (sets,) = self._sets(source, source.next_symbols(string[None, :]))
        return " ".join(",".join(one) or NOTHING for one in sets)

    def to_json(self, source: Any, example: Example) -> list[Any]:
        """Return the sets as lists of symbols."""
        return self._sets(source, example.targets)

    def _sets(self, source: Any, targets: Any) -> list[list[list[str]]]:
        names = self.answers(source)
        return [
            [[name for name, bit in zip(names, bits, strict=True) if bit] for bits in rows]
            for rows in targets.tolist()
        ]

    def read_answer(self, source: Any, answer: Any, example: Example) -> Any:
        """Convert sets of legal symbols (lists, or text as in `show`) to bits, (N+1, S+1)."""
        if isinstance(answer, str):
            answer = [[] if one == NOTHING else one.split(",") for one in answer.split()]
        _, places, bits = example.targets.shape
        if not isinstance(answer, list) or len(answer) != places:
            actual = len(answer) if isinstance(answer, list) else repr(answer)[:40]
            raise ValueError(f"expected {places} sets of symbols, got {actual}")
        index = {name: number for number, name in enumerate(self.answers(source))}
        labels = np.zeros((places, bits), dtype=np.bool_)
        for place, legal in enumerate(answer):
            if not isinstance(legal, list):
                raise ValueError(f"{legal!r:.40} is not a list of symbols")
            unknown = [one for one in legal if not isinstance(one, str) or one not in index]
            if unknown:
                raise ValueError(
                    f"{unknown[0]!r:.40} is not a symbol (valid: {self._known([*index])})"
                )
            labels[place, [index[name] for name in legal]] = True
        return labels

    def decided(self, labels: Tensor, outputs: int) -> Tensor:
        """Return positive logits for set bits and negative ones for others."""
        return (2.0 * labels.float() - 1.0) * SURE

    def margin(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return the least absolute logit, (B,)."""
        scored = example.scored
        if scored is not None:
            scored = spread_scored(scored, logits).flatten(1)
        return least_margin(logits.abs().flatten(1), scored)

    def decisive_logit(self, logits: Tensor, example: Example, primary: Metric) -> float:
        """Return the logit of the first wrong bit; B is 1."""
        wrong = (logits > 0) != example.targets
        bad = wrong | ~logits.isfinite()
        if example.scored is not None:
            bad = bad & spread_scored(example.scored, bad)
        return float(logits[bad][:1].sum())

    def contradicts(self, source: Any, example: Example) -> int | None:
        """Compare with the oracle whether prefixes may end."""

        def ends(string: list[int]) -> list[int]:
            return [source.oracle(string[:end]) for end in range(len(string) + 1)]

        return first_difference(example, example.targets[:, :, -1], ends)

    def promises(self, task: Task) -> Iterator[Promise]:
        """Compare members and legal sets with the oracle."""
        yield "draws members only", lambda: check_members(task)
        yield (
            "names the symbols that may follow, checked on short strings",
            lambda: _check_next(task),
        )


def _check_next(task: Task) -> None:
    """Compare legal sets with every extension of a short prefix by up to a few symbols."""
    source: Any = task.source
    size = len(task.alphabet)
    lookahead = max(1, int(np.log(64) / np.log(max(size, 2))))
    length, patience = 0, Patience()
    while size ** (length + lookahead) <= MAX_STRINGS and length <= 5:
        prefixes = list(product(range(size), repeat=length))
        strings = np.array(prefixes, dtype=np.int64).reshape(size**length, length)
        legal = source.next_symbols(strings)
        shape = (len(strings), length + 1, size + 1)
        demand(legal.shape == shape, f"next_symbols is {legal.shape}")
        for string, row in zip(strings.tolist(), legal[:, -1], strict=True):
            may_end = source.oracle(string) == 1
            demand(bool(row[-1]) == may_end, f"after {string}: may end is {not may_end}")
            if patience.ended:
                return
            for symbol in range(size):
                if any(
                    source.oracle([*string, symbol, *rest]) == 1
                    for extra in range(lookahead)
                    for rest in product(range(size), repeat=extra)
                ):
                    demand(row[symbol], f"after {string}, symbol {symbol} is legal")
        length += 1
