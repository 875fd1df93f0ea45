"""The objectives `causal-lm` and `masked-lm`.

Reference: Chi et al. (2023), section 6: the test asks for the last token of a window alone, which
    all others stand before ("so that we do not suffer from the early token curse").

Reference: Devlin et al. (2019), section 3.1; Yao et al. (2021), section 6.3.

Legend: B windows, N tokens of each, V tokens that there are, the end of a text included.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from formalbench import (
    AnswerAccuracy,
    Batch,
    Chance,
    Corpus,
    CrossEntropy,
    Example,
    HasFixedStrings,
    HasParts,
    Metric,
    Objective,
    Stream,
    Symbols,
)
from formalbench.contracts.objective import CROSS_ENTROPY, Measures

from formalbench_text.metrics import Perplexity

if TYPE_CHECKING:
    from torch import Tensor


WINDOWS = 1024
"""By which the chance level is estimated where the test has no windows of a length."""


class AskedTokens(Objective):
    """Asks for some tokens of each window. Logits are (B, N, V).

    Its primary metric is the share that is right; a checkpoint is chosen by cross-entropy, and so
    by perplexity.
    """

    layout = "each"
    needs = (Corpus,)

    @abstractmethod
    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for tokens of windows."""

    def answers(self, source: Any) -> tuple[str, ...]:
        """Return the tokens."""
        tokens: tuple[str, ...] = source.alphabet
        return tokens

    def batch(self, example: Example) -> Batch:
        """Return which tokens are asked for, where they are few."""
        few = 2 * int(example.scored.sum()) <= example.scored.numel()
        return example.batch._replace(asked=example.scored) if few else example.batch

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean cross-entropy over the tokens asked for, in nats."""
        return CrossEntropy().loss(logits, example)

    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Measure the share of tokens that is right, perplexity and cross-entropy."""
        return AnswerAccuracy(), Perplexity(), CrossEntropy()

    def preference(self, measures: Measures, primary: str) -> tuple[float, ...]:
        """Prefer the lesser cross-entropy."""
        return (-measures[CROSS_ENTROPY].mean,)

    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Count the most frequent token among those that the test asks for."""
        test = source.part("test") if isinstance(source, HasParts) else source
        shares = [self._shares(test, length, stream.child(length)) for length in lengths]
        constant = float(np.mean(shares, axis=0).max())
        return Chance(constant, tuple(float(share.max()) for share in shares))

    def _shares(self, test: Any, length: int, stream: Stream) -> Any:
        if isinstance(test, HasFixedStrings) and self.has_length(test, length):
            windows_BN = np.concatenate([test.fixed(length, group) for group in test.groups])
        else:
            windows_BN = test.sample(stream, length, WINDOWS)
        example = self.examples(test, windows_BN, stream)
        counts_V = np.bincount(example.targets[example.scored], minlength=len(test.alphabet))
        return counts_V / counts_V.sum()

    def show(self, source: Any, string: Symbols) -> str:
        """Return the tokens of a window."""
        return " ".join(source.alphabet[token] for token in string)

    def to_json(self, source: Any, example: Example) -> list[Any]:
        """Return the tokens asked for of each window, by their places."""
        return [
            {str(place): int(tokens[place]) for place in np.flatnonzero(scored)}
            for tokens, scored in zip(example.targets, example.scored, strict=True)
        ]


class CausalLM(AskedTokens):
    """Says at every token of a window which one comes next; the last one has none."""

    name = "causal-lm"

    def has_length(self, source: Any, length: int) -> bool:
        """Return whether there are windows of a length, and a token to say in them."""
        return length >= 2 and bool(source.has_length(length))

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for all tokens but the first, or for the last alone."""
        targets_BN = np.zeros_like(strings_BN)
        targets_BN[:, :-1] = strings_BN[:, 1:]
        scored_BN = np.zeros(strings_BN.shape, dtype=np.bool_)
        scored_BN[:, -2 if source.last_only else 0 : -1] = True
        return Example(strings_BN, targets_BN, scored=scored_BN)


ASKED = 0.15
"""The share of tokens that is asked for; of every window at least one."""

HIDDEN = 0.8
"""The share of those that is hidden."""

KEPT = 0.9
"""Those from here on stay as they are; between the two stands another token, drawn by lot."""

MASK = "<mask>"


class MaskedLM(AskedTokens):
    """Says which tokens of a window were hidden or changed."""

    name = "masked-lm"
    sees_all = True

    def alphabet(self, source: Any) -> tuple[str, ...]:
        """Return the tokens and, behind them, what hides one."""
        return (*source.alphabet, MASK)

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Hide tokens."""
        masked_BN = stream.uniform(strings_BN.shape) < ASKED
        always_B = stream.integers(strings_BN.shape[1], len(strings_BN))
        masked_BN[np.arange(len(strings_BN)), always_B] = True
        fate_BN = stream.uniform(strings_BN.shape)
        other_BN = stream.integers(len(source.alphabet), strings_BN.shape)
        inputs_BN = np.where(fate_BN < HIDDEN, len(source.alphabet), other_BN)
        kept_BN = ~masked_BN | (fate_BN >= KEPT)
        return Example(np.where(kept_BN, strings_BN, inputs_BN), strings_BN, scored=masked_BN)
