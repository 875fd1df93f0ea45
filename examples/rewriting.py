"""A function from strings to strings, and an objective that asks for it symbol by symbol.

    formalbench check rewriting.py
    formalbench run --plugin rewriting.py --model rnn --task running-parity

A *synchronous* string function answers every symbol at once, so its answers are as long as the
string. For functions whose answers come after the string there is the objective `transduce`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from formalbench import (
    Chance,
    CrossEntropy,
    Example,
    Labels,
    Metric,
    Objective,
    ObjectiveSpec,
    Stream,
    StringAccuracy,
    Symbols,
    TaskSpec,
    Transduction,
    hookimpl,
)
from torch import Tensor


class RunningParity(Transduction):
    """Every bit becomes the parity of the bits up to it."""

    alphabet = ("0", "1")
    outputs = ("even", "odd")

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform bits, (count, length)."""
        return stream.integers(2, (count, length))

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Return the parities, (B, N), and their lengths."""
        return strings_BN.cumsum(axis=1) % 2, np.full(len(strings_BN), strings_BN.shape[1])

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Count the 1s of every prefix."""
        return [list(string[: end + 1]).count(1) % 2 for end in range(len(string))]

    def answer_length(self, length: int) -> int:
        """Return the string's own length."""
        return length


class Rewrite(Objective):
    """The function's answer at every symbol, from the prefix.

    Logits are (B, N, K) with K output symbols, targets (B, N).
    """

    name = "rewrite"
    layout = "each"
    needs = (Transduction,)

    def answers(self, source: Any) -> tuple[str, ...]:
        """Return the output symbols."""
        outputs: tuple[str, ...] = source.outputs
        return outputs

    def has_length(self, source: Any, length: int) -> bool:
        """Return whether the answers to strings of this length are as long as they are."""
        return length >= 1 and source.answer_length(length) == length

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Answer every symbol."""
        answers_BN, _ = source.transduce(strings_BN)
        return Example(strings_BN, answers_BN)

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean cross-entropy over the symbols that are scored, in nats."""
        return CrossEntropy().loss(logits, example)

    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Measure by whole strings (and, beside it, by symbol)."""
        return StringAccuracy(), CrossEntropy()

    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the chance of guessing a whole answer, one of many that are equally likely."""
        shares = tuple(len(source.outputs) ** -float(length) for length in lengths)
        return Chance(sum(shares) / len(shares), shares)

    def show(self, source: Any, string: Symbols) -> str:
        """Return the answer's symbols."""
        answers_BN, _ = source.transduce(string[None])
        return " ".join(source.outputs[symbol] for symbol in answers_BN[0])

    def to_json(self, source: Any, example: Example) -> list[Any]:
        """Return the ids of the answers."""
        answers: list[Any] = example.targets.tolist()
        return answers


@hookimpl
def formalbench_objectives() -> Iterable[ObjectiveSpec]:
    """Announce the objective."""
    yield ObjectiveSpec("rewrite", "the answer of a string function at every symbol", Rewrite)


@hookimpl
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce the function."""
    yield TaskSpec(
        name="running-parity",
        version=1,
        summary="is the number of 1s so far odd?",
        factory=RunningParity,
        objectives=("rewrite", "transduce"),
    )
