"""The objective ``translate``: a translation, token by token, by encoder-decoders.

Reference: Chiang and Cholak (2022), section 4.4 and table 1; smoothed labels: Szegedy et al.
    (2016), section 7.

Legend: B texts, M tokens of the longest translation, K outputs, the last of which is END.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from formalbench import (
    AnswerAccuracy,
    Chance,
    CrossEntropy,
    Example,
    HasParts,
    Metric,
    PairedCorpus,
    Stream,
    Symbols,
)
from formalbench.metrics.answers import mean_scored
from formalbench.objectives.transduce import TransductionObjective, said_in_steps

from formalbench_text.metrics import Bleu, Perplexity

if TYPE_CHECKING:
    from torch import Tensor


MORE = 50
"""Maximum tokens of a translation beyond the text's length (Vaswani et al. 2017, section 6.1)."""

GUESSED_FROM = 4096
"""Number of translations in which the most frequent one is searched."""


class Translate(TransductionObjective):
    """Says the next token after every prefix of a translation, END last; (B, M+1, K).

    Training gives a network the right tokens so far; in a test it is given its own, or a search
    finds the best translation (`formalbench.contracts.protocol.Testing`). Its primary metric is
    BLEU; a checkpoint is chosen by it on the validation texts, then by cross-entropy.
    """

    name = "translate"
    layout = "decoded"
    needs = (PairedCorpus,)
    smoothing = 0.0

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for each next token of the translations."""
        outputs_BM, lengths_B = source.translate(strings_BN, stream)
        return said_in_steps(strings_BN, outputs_BM, lengths_B, len(source.outputs))

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean cross-entropy over all tokens in nats, labels smoothed if asked for."""
        share = self.smoothing
        if not share:
            return CrossEntropy().loss(logits, example)
        logs = logits.log_softmax(-1)
        right = logs.gather(-1, example.targets.unsqueeze(-1)).squeeze(-1)
        nats = -((1 - share) * right + share * logs.mean(-1))
        return mean_scored(nats, example.scored)

    def smoothed(self, share: float) -> Translate:
        """Return this objective with smoothed labels."""
        changed = copy.copy(self)
        changed.smoothing = share
        return changed

    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Measure BLEU, and given the right tokens so far, perplexity and cross-entropy."""
        bleu = Bleu(source, tokenised=source.tokenised)
        return bleu, Perplexity(), CrossEntropy()

    def right(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return which share of each translation's tokens is right, given those before, (B,)."""
        return AnswerAccuracy().right(logits, example)

    def room(self, example: Example) -> int:
        """Return how many tokens may be said, by the length of the texts alone."""
        return example.length + MORE

    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the BLEU of always answering the most frequent training translation."""
        train, test = (
            source.part(split) if isinstance(source, HasParts) else source
            for split in ("train", "test")
        )
        places = [n for n in range(max(lengths) + 1) if train.has_length(n)]
        each = -(-GUESSED_FROM // max(1, len(places)))
        samples = (self._texts(train, n, each, stream.child("train", n)) for n in places)
        often = Counter(text for texts in samples for text in texts)
        guess = max(sorted(often), key=often.__getitem__) if often else ""
        right = [
            text
            for n in sorted(set(lengths))
            if test.has_length(n)
            for text in self._texts(test, n, lengths.count(n), stream.child("test", n))
        ]
        bleu: Bleu = self.metrics(source)[0]  # type: ignore[assignment]
        share = bleu.score([guess] * len(right), right) if right else 0.0
        return Chance(share, (share,) * len(lengths))

    def show(self, source: Any, string: Symbols) -> str:
        """Return a translation of one text."""
        outputs_1M, (length,) = source.translate(string[None], Stream("show"))
        return str(source.words(outputs_1M[0, :length].tolist()))

    def contradicts(self, source: Any, example: Example) -> None:
        """Return no contradiction: the translations in the files are correct."""

    def _texts(self, source: Any, length: int, count: int, stream: Stream) -> list[str]:
        """Return translations of texts of one length."""
        strings = source.sample(stream, length, count)
        outputs_BM, lengths_B = source.translate(strings, stream)
        rows = zip(outputs_BM.tolist(), lengths_B.tolist(), strict=True)
        return [source.words(row[:size]) for row, size in rows]
