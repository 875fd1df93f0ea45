"""How often the matching close bracket is predicted, overall and by distance to its open bracket.

Legend: B strings, N symbols, P = N+1 prefixes, K closing brackets, L distances or positions.

Reference: Hewitt et al. (2020), "RNNs can generate bounded hierarchical languages with optimal
    memory", section 6; Yao et al. (2021), appendix D.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from formalbench.contracts.objective import Measure, State, StringMetric

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.network import Example
    from formalbench.contracts.source import HasBrackets, Source, Symbols

CONFIDENT = 0.8
"""Share of the closing brackets' probability that the correct one must exceed."""

STRINGS = "close-bracket-string-accuracy"
MICRO = "close-bracket-accuracy"
MACRO = "close-bracket-macro-accuracy"

EXPECTED, DISTANCE = range(2)
"""Columns of the data known about a prefix."""


class CloseBrackets(StringMetric):
    """Whether the matching close has more than 0.8 of the probability of all closes.

    It is measured after every prefix with an open bracket. With one type of brackets (K = 1) the
    share is always 1, so the metric is trivial and the chance level is 1. By distance it measures

    * ``close-bracket-string-accuracy``: the share of strings with no other prefix;
    * ``close-bracket-accuracy``: the share of prefixes, as Yao et al. (2021) report it;
    * ``close-bracket-macro-accuracy``: the mean of the shares at each distance that occurs from
      the open bracket to the next symbol, as Hewitt et al. (2020) report it.

    By position it measures ``close-bracket-accuracy-at-N``, the share after N symbols.

    Args:
        closes: the ids of the closing brackets.
        by: grouping of prefixes: distance or position.
    """

    name = STRINGS

    def __init__(self, closes: range, by: Literal["distance", "position"] = "distance") -> None:
        if not closes:
            raise ValueError("the metric needs the ids of the closing brackets")
        self.closes = closes
        self.by = by
        if by == "position":
            self.name = f"{MICRO}-by-position"

    def precompute(self, source: Source, strings_BN: Symbols) -> npt.NDArray[Any]:
        """Return the expected close after every prefix, and its distance, (B, N+1, 2).

        The first is an index of `closes`, -1 if nothing is open; the other is the distance from the
        open bracket to the next symbol, or the next symbol's position. In the smallest suitable
        integer type, because test sets of long strings are kept in memory.
        """
        count, length = strings_BN.shape
        small = max(length, len(source.alphabet)) < 1 << 15
        known_BP2 = np.empty((count, length + 1, 2), dtype=np.int16 if small else np.int32)
        expected_BP, opened_BP = cast("HasBrackets", source).open_brackets(strings_BN)
        known_BP2[:, :, EXPECTED] = expected_BP
        at_P = np.arange(length + 1)
        apart_BP = at_P - opened_BP if self.by == "distance" else at_P
        known_BP2[:, :, DISTANCE] = np.where(expected_BP >= 0, apart_BP, 0)
        return known_BP2

    def right(self, logits: Tensor, example: Example) -> Tensor:
        """Return which strings have only correct closing brackets, (B,)."""
        right_BP, scored_BP = self._right_closes(logits, example)
        return (right_BP | ~scored_BP).all(-1)

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return [correct, all] strings, then [correct, all] prefixes of each group, (1+L, 2)."""
        import torch

        right_BP, scored_BP = self._right_closes(logits, example)
        right_B = (right_BP | ~scored_BP).all(-1)
        apart_BP, size = example.known[self.name][..., DISTANCE], scored_BP.shape[1]
        counts_L2 = torch.stack(
            [apart_BP[mask_BP].bincount(minlength=size) for mask_BP in (right_BP, scored_BP)], -1
        )
        strings_12 = torch.stack((right_B.sum(), torch.ones_like(right_B).sum()))[None]
        return torch.cat((strings_12, counts_L2)).double()

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the shares by name; the macro accuracy is the mean over occurring distances."""
        right_L, scored_L = state[1:].T
        if self.by == "position":
            return {
                f"{MICRO}-at-{place}": Measure(float(right_L[place]), round(scored_L[place]))
                for place in np.flatnonzero(scored_L).tolist()
            }
        occurs_L = scored_L > 0
        shares_L = right_L[occurs_L] / scored_L[occurs_L]
        return {
            STRINGS: Measure(float(state[0, 0]), round(state[0, 1])),
            MICRO: Measure(float(right_L.sum()), round(scored_L.sum())),
            MACRO: Measure(float(shares_L.sum()), len(shares_L)),
        }

    def margin(self, logits: Tensor, example: Example) -> Tensor:
        """Return how far the likeliest close is from the confidence threshold, (B,).

        In log-odds against all other closes, the smallest of any prefix; infinite for one type.
        """
        closes_BPK = self._close_logits(logits).sort(-1, descending=True).values
        if len(self.closes) == 1:
            return logits.new_full(logits.shape[:1], math.inf)
        odds_BP = closes_BPK[..., 0] - closes_BPK[..., 1:].logsumexp(-1)
        gaps_BP = (odds_BP - math.log(CONFIDENT / (1 - CONFIDENT))).abs()
        if example.scored is not None:
            gaps_BP = gaps_BP.where(example.scored, math.inf)
        return gaps_BP.amin(-1)

    def _right_closes(self, logits: Tensor, example: Example) -> tuple[Tensor, Tensor]:
        """Return where the matching close is predicted, and where one is scored, (B, N+1)."""
        expected_BP1 = example.known[self.name][..., EXPECTED].unsqueeze(-1)
        shares_BPK = self._close_logits(logits).softmax(-1)
        share_BP1 = shares_BPK.gather(-1, expected_BP1.clamp(min=0))
        scored_BP = (expected_BP1 >= 0).squeeze(-1)
        if example.scored is not None:
            scored_BP = scored_BP & example.scored
        return (share_BP1 > CONFIDENT).squeeze(-1) & scored_BP, scored_BP

    def _close_logits(self, logits: Tensor) -> Tensor:
        closes = self.closes
        return logits[..., closes.start : closes.stop : closes.step]
