"""The objective ``causal-lm``: which token comes next?

Reference: Chi et al. (2023), section 6: the test asks for the last token of a window alone, which
    all others stand before ("so that we do not suffer from the early token curse").

Legend: B windows, N tokens of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from formalbench import Example, Stream, Symbols

from formalbench_text.objectives.tokens import AskedTokens


class CausalLM(AskedTokens):
    """Says at every token of a window which one comes next; the last one has none."""

    name = "causal-lm"

    def has_length(self, source: Any, length: int) -> bool:
        """Say whether there are windows of a length, and a token to say in them."""
        return length >= 2 and bool(source.has_length(length))

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for all tokens but the first, or for the last alone."""
        targets_BN = np.zeros_like(strings_BN)
        targets_BN[:, :-1] = strings_BN[:, 1:]
        scored_BN = np.zeros(strings_BN.shape, dtype=np.bool_)
        scored_BN[:, -2 if source.last_only else 0 : -1] = True
        return Example(strings_BN, targets_BN, scored=scored_BN)
