"""An objective: some symbols of a string are hidden, and the network predicts them.

    formalbench check masked_symbol.py
    formalbench run --plugin masked_symbol.py --model "transformer[causal=false]" \\
        --task dyck-1:masked-symbol

It can be asked of any language that can draw its members; `Example.scored` marks the answers that
count, and the alphabet a network is given has one symbol more than the language's.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from formalbench import (
    AnswerAccuracy,
    Chance,
    CrossEntropy,
    Example,
    HasMembers,
    Language,
    Metric,
    Objective,
    ObjectiveSpec,
    Stream,
    Symbols,
    hookimpl,
)
from torch import Tensor

HIDDEN = 0.15
"""The share of symbols that is hidden; of every string at least one."""

STRINGS = 4096
"""By which the chance level is estimated."""


class MaskedSymbol(Objective):
    """Which symbols of a member were hidden?

    Logits are (B, N, S). Targets are all symbols, (B, N); the hidden ones are scored.
    """

    name = "masked-symbol"
    layout = "each"
    needs = (Language, HasMembers)
    sees_all = True

    def alphabet(self, source: Any) -> tuple[str, ...]:
        """Return the language's symbols and the one that hides."""
        return (*source.alphabet, "MASK")

    def answers(self, source: Any) -> tuple[str, ...]:
        """Return the language's symbols."""
        symbols: tuple[str, ...] = source.alphabet
        return symbols

    def has_length(self, source: Any, length: int) -> bool:
        """Return whether there is a member with a symbol to hide."""
        return length >= 1 and bool(source.has_members(length))

    def strings(self, source: Any, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members."""
        members: Symbols = source.sample_members(stream, length, count)
        return members

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Hide symbols."""
        hidden_BN = stream.uniform(strings_BN.shape) < HIDDEN
        always_B = stream.integers(strings_BN.shape[1], len(strings_BN))
        hidden_BN[np.arange(len(strings_BN)), always_B] = True
        inputs_BN = np.where(hidden_BN, len(source.alphabet), strings_BN)
        return Example(inputs_BN, strings_BN, scored=hidden_BN)

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean cross-entropy over the hidden symbols, in nats."""
        return CrossEntropy().loss(logits, example)

    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Measure by hidden symbol (and, beside it, by string)."""
        return AnswerAccuracy(), CrossEntropy()

    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Estimate how often the most frequent symbol is the one that was hidden."""
        shares = []
        for length in lengths:
            strings = source.sample_members(stream.child(length), length, STRINGS)
            shares.append(np.bincount(strings.ravel(), minlength=len(source.alphabet)))
        by_length = [counts / counts.sum() for counts in shares]
        constant = float(np.mean(by_length, axis=0).max())
        return Chance(constant, tuple(float(share.max()) for share in by_length))

    def show(self, source: Any, string: Symbols) -> str:
        """Return the string itself, because any of its symbols may be hidden."""
        return " ".join(source.alphabet[symbol] for symbol in string)

    def to_json(self, source: Any, example: Example) -> list[Any]:
        """Return the hidden symbols of each string, by position."""
        return [
            {str(place): int(symbols[place]) for place in np.flatnonzero(scored)}
            for symbols, scored in zip(example.targets, example.scored, strict=True)
        ]


@hookimpl
def formalbench_objectives() -> Iterable[ObjectiveSpec]:
    """Announce the objective."""
    yield ObjectiveSpec("masked-symbol", "which symbols of a member were hidden?", MaskedSymbol)
