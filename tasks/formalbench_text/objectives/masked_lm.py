"""The objective ``masked-lm``: which tokens were hidden?

Reference: Devlin et al. (2019), section 3.1; Yao et al. (2021), section 6.3.

Legend: B windows, N tokens of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from formalbench import Example, Stream, Symbols

from formalbench_text.objectives.tokens import AskedTokens

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
        asked_BN = stream.uniform(strings_BN.shape) < ASKED
        always_B = stream.integers(strings_BN.shape[1], len(strings_BN))
        asked_BN[np.arange(len(strings_BN)), always_B] = True
        fate_BN = stream.uniform(strings_BN.shape)
        other_BN = stream.integers(len(source.alphabet), strings_BN.shape)
        inputs_BN = np.where(fate_BN < HIDDEN, len(source.alphabet), other_BN)
        kept_BN = ~asked_BN | (fate_BN >= KEPT)
        return Example(np.where(kept_BN, strings_BN, inputs_BN), strings_BN, scored=asked_BN)
