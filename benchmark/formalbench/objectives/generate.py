"""The objective ``generate``: a distribution over the next symbol, END included.

Legend: B strings, N symbols, P = N+1 prefixes, S symbols in the alphabet.

Reference: Hewitt et al. (2020), "RNNs can generate bounded hierarchical languages with optimal
    memory", section 6; Yao et al. (2021), appendix D.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Example
from formalbench.contracts.objective import Chance, Objective, Promise, as_lists, demand
from formalbench.contracts.source import (
    HasBrackets,
    HasMembers,
    HasProcess,
    Language,
    Stream,
    Symbols,
)
from formalbench.metrics.answers import CrossEntropy, class_nats, mean_scored
from formalbench.metrics.close_brackets import CloseBrackets
from formalbench.objectives.answers import END, check_members

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    from formalbench.contracts.objective import Metric
    from formalbench.contracts.task import Task

LOGITS_ONLY = (
    "generate is scored by probabilities of the next symbol: "
    "give logits (B, N+1, K) to evaluate(), not labels"
)
"""Error for labels. One next symbol says nothing of the closing bracket where another follows."""


class Generate(Objective):
    """A distribution of the next symbol after every prefix, beginning with the empty one.

    Logits are (B, N+1, S+1), END last. Targets, (B, N+1), are the ids of the next symbols, S for
    END.

    The loss is the cross-entropy to the next symbol. A string is correct if for every open bracket
    the matching close is predicted (`CloseBrackets`).
    """

    name = "generate"
    layout = "prefixes"
    needs = (Language, HasMembers, HasProcess, HasBrackets)
    only_viable = True

    def answers(self, source: Any) -> tuple[str, ...]:
        """Return the symbols and END."""
        return (*source.alphabet, END)

    def has_length(self, source: Any, length: int) -> bool:
        """Return whether the language has members of this length."""
        return length >= 0 and bool(source.has_members(length))

    def strings(self, source: Any, stream: Stream, length: int, count: int) -> Symbols:
        """Sample members of the language's process, conditioned on the length."""
        members: Symbols = source.sample_generated(stream, length, count)
        return members

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for the next symbol after every prefix, (B, N+1)."""
        ends_B1 = np.full((len(strings_BN), 1), len(source.alphabet), dtype=np.int64)
        return Example(strings_BN, np.concatenate((strings_BN, ends_B1), axis=1))

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean cross-entropy over all prefixes in nats."""
        return mean_scored(class_nats(logits, example.targets), example.scored)

    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Return the accuracies at closing brackets, and cross-entropy per symbol."""
        return CloseBrackets(source.closes), CrossEntropy()

    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the chance of guessing the types of all N/2 pairs of a string, exactly."""
        return self.stated_chance(source, lengths)

    def stated_chance(self, source: Any, lengths: Sequence[int]) -> Chance:
        """Return the chance of guessing the types of all N/2 pairs of a string, exactly.

        Types are uniform and independent, and a prediction right after an opening bracket
        must name its type: K^(-N/2) for any guess that does not change between a bracket and
        its close, and the guess that never changes is one.
        """
        shares = tuple(float(len(source.closes)) ** -(length // 2) for length in lengths)
        return Chance(sum(shares) / len(shares), shares)

    def show(self, source: Any, string: Symbols) -> str:
        """Return 1 for a member and 0 for any other string."""
        return str(int(source.classify(string[None, :])[0]))

    def to_json(self, source: Any, example: Example) -> list[Any]:
        """Return the next symbols, ``$`` for END."""
        names = self.answers(source)
        return [[names[symbol] for symbol in row] for row in example.targets.tolist()]

    def labels(self, source: Any, strings_BN: Symbols) -> list[Any]:
        """Return 1 for each member and 0 for any other string."""
        return as_lists(source.classify(strings_BN))

    def read_answer(self, source: Any, answer: Any, example: Example) -> npt.NDArray[Any]:
        """Refuse an external label.

        Raises:
            ValueError: always.
        """
        raise ValueError(LOGITS_ONLY)

    def decided(self, labels: Tensor, outputs: int) -> Tensor:
        """Refuse external labels.

        Raises:
            RequestError: always.
        """
        raise RequestError(LOGITS_ONLY)

    def margin(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return how far the likeliest close is from the confidence threshold, (B,)."""
        assert isinstance(primary, CloseBrackets)
        return primary.margin(logits, example)

    def expected(self, source: Any, string: Symbols, example: Example) -> int | str:
        """Return the next symbols, separated by spaces."""
        (symbols,) = self.to_json(source, example)
        return " ".join(symbols)

    def promises(self, task: Task) -> Iterator[Promise]:
        """Compare members and open brackets with the oracle."""
        yield "draws members only", lambda: check_members(task)
        yield "names the one bracket that may be closed", lambda: _check_closes(task)


def _check_closes(task: Task) -> None:
    """Compare open brackets with the closes that the oracle allows after a short prefix."""
    source: Any = task.source
    demand(source.closes, "closes is empty: it must hold the ids of the closing brackets")
    for length in [length for length in range(9) if source.has_members(length)]:
        strings = task.objective.strings(source, Stream("check closes", length), length, 16)
        types, positions = source.open_brackets(strings)
        shape = (16, length + 1)
        demand(types.shape == positions.shape == shape, f"open_brackets is {types.shape}")
        for string, row, opened in zip(strings.tolist(), types, positions, strict=True):
            for end in range(length + 1):
                _check_close(source, string, end, int(row[end]), int(opened[end]))


def _check_close(source: Any, string: list[int], end: int, bracket: int, opened: int) -> None:
    place = f"after {string[:end]}"
    demand((bracket >= 0) == (0 <= opened < end), f"{place}: {opened} is open")
    if bracket < 0:
        demand(source.oracle(string[:end]) == 1, f"{place}: something is open")
        return
    # The string between a bracket and its close is balanced, and so is the whole.
    inside, close = string[opened + 1 : end], source.closes[bracket]
    right = source.oracle(inside) == 1 == source.oracle([string[opened], *inside, close])
    demand(right, f"{place}: {close} does not close {opened}")
