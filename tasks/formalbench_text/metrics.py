"""Perplexity, BLEU, and whether the BLEU of two models differs.

Legend: B texts, Q tokens said, K outputs, the last of which is END.

Reference: Papineni et al. (2002); Post (2018), "A call for clarity in reporting BLEU scores"; for
    the paired bootstrap: Koehn (2004).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from formalbench import CrossEntropy, Measure, Metric, PairedCorpus
from formalbench.contracts.errors import need_package
from formalbench.contracts.objective import State

if TYPE_CHECKING:
    from formalbench import Example
    from torch import Tensor


MOST_BITS = 1000.0
"""Maximum of the mean, beyond which 2 to its power overflows."""


class Perplexity(Metric):
    """perplexity: 2 to the power of the mean cross-entropy in bits, of each cell.

    Over several cells it is the mean of theirs, each with the weight of its answers.
    """

    name = "perplexity"
    teacher_forced = True

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the sum of bits, and how many answers there are, (2,)."""
        return CrossEntropy().measure(logits, example)

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the perplexity times the number of answers, and that number."""
        bits, answers = float(state[0]), round(float(state[1]))
        mean = min(bits / max(answers, 1), MOST_BITS)
        return {self.name: Measure(answers * 2.0**mean, answers)}


NAME = "bleu"

ORDER = 4
"""Maximum n of n-grams."""

DRAWS = 1000
"""Number of bootstrap samples."""

SEED = 12345


class Bleu(Metric):
    """BLEU of a corpus, from 0 to 1: each cell is one, and counts as many texts as it has.

    It is of what a network says by itself. Over several cells it is the mean of theirs.

    Args:
        source: says what tokens say.
        tokenised: whether words and marks stand apart already; else sacrebleu cuts them.

    Raises:
        MissingPackageError: one line, if the library is not there.
    """

    name = NAME

    def __init__(self, source: PairedCorpus, *, tokenised: bool) -> None:
        self._source = source
        self._bleu = scorer(tokenised=tokenised)
        self._bleu.corpus_score(["."], [["."]])  # before that it has no signature
        self.signature = str(self._bleu.get_signature())

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return n-grams that match, n-grams said, words said and to say, and texts, (2·4+3,)."""
        lengths_B = example.scored.sum(-1)
        hypotheses = list(self.texts(logits.argmax(-1), lengths_B))
        right = list(self.texts(example.targets, lengths_B))
        score = self._bleu.corpus_score(hypotheses, [right])
        sums = [*score.counts, *score.totals, score.sys_len, score.ref_len, len(hypotheses)]
        return logits.new_tensor(sums).double()

    def finish(self, state: State) -> dict[str, Measure]:
        """Return BLEU times the number of texts, and that number."""
        *sums, texts = (round(one) for one in state.tolist())
        bleu = self.of(sums)
        return {self.name: Measure(bleu * texts, texts)}

    def score(self, said: Sequence[str], right: Sequence[str]) -> float:
        """Return BLEU, from 0 to 1, of texts."""
        return min(1.0, float(self._bleu.corpus_score(list(said), [list(right)]).score) / 100)

    def of(self, sums: Sequence[int]) -> float:
        """Return BLEU, from 0 to 1, of sums over texts."""
        score = self._bleu.compute_bleu(
            correct=list(sums[:ORDER]),
            total=list(sums[ORDER : 2 * ORDER]),
            sys_len=sums[-2],
            ref_len=sums[-1],
            smooth_method=self._bleu.smooth_method,
            smooth_value=self._bleu.smooth_value,
            effective_order=self._bleu.effective_order,
        )
        return min(1.0, float(score.score) / 100)

    def texts(self, said_BQ: Tensor, asked_B: Tensor) -> Iterator[str]:
        """Return the text up to END; without END, as many tokens as the correct answer has."""
        end = len(self._source.outputs)
        for row, length in zip(said_BQ.tolist(), asked_B.tolist(), strict=True):
            yield self._source.words(row[: row.index(end) if end in row else length])


class SystemComparison(NamedTuple):
    """Two systems on the same texts.

    Attributes:
        bleu: of each, from 0 to 1.
        p: how probable so great a difference is if there is none.
        signature: of sacrebleu.
    """

    bleu: tuple[float, float]
    p: float
    signature: str


def compare_systems(
    one: Sequence[str], other: Sequence[str], right: Sequence[str], *, tokenised: bool
) -> SystemComparison:
    """Compare what two systems say by a paired bootstrap over texts (Koehn 2004).

    Args:
        one: of the first system, a text each.
        other: of the second.
        right: what should be said.
        tokenised: as for `Bleu`.

    Raises:
        MissingPackageError: one line, if the library is not there.
    """
    import os

    metric = scorer(tokenised=tokenised, references=[list(right)])
    from sacrebleu.significance import PairedTest

    systems: Any = [("one", list(one)), ("other", list(other))]
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(SEED)
    try:
        test = PairedTest(systems, {"BLEU": metric}, None, test_type="bs", n_samples=DRAWS)
        signatures, scores = test()
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
    results: Any = scores["BLEU"]
    first, second = results
    signature = next(iter(signatures.values()))
    # The library counts greater differences than theirs, and of none there is none greater.
    p = 1.0 if first.score == second.score else float(second.p_value)
    return SystemComparison((first.score / 100, second.score / 100), p, str(signature))


def scorer(*, tokenised: bool, references: list[list[str]] | None = None) -> Any:
    """Return sacrebleu's BLEU.

    Raises:
        MissingPackageError: one line, if the library is not there.
    """
    need_package("BLEU", "sacrebleu", "text")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="none" if tokenised else "13a", force=True, references=references)
