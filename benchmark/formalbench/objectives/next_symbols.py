"""The objective ``next-symbols``: what may follow each prefix (Bhattamishra et al. 2020)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from formalbench.contracts.language import Language, Mask, Symbols
from formalbench.contracts.stream import Stream
from formalbench.objectives.whole import WholeString

if TYPE_CHECKING:
    from torch import Tensor

END = "$"
NOTHING = "!"


class NextSymbols(WholeString):
    """After every prefix, the empty one first, the set of legal next symbols, multi-hot.

    Logits are (B, N+1, S+1): one per symbol, and one for "may end here"; a positive one says
    legal. Strings are members. A string is correct if every bit at every position is.
    """

    name = "next-symbols"
    layout = "prefixes"

    def outputs(self, language: Language) -> int:
        """Return the number of symbols plus one."""
        return len(language.alphabet) + 1

    def has_length(self, language: Language, length: int) -> bool:
        """Say whether there are members of this length."""
        return length >= 0 and language.has_members(length)

    def sample(self, language: Language, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members uniformly."""
        return language.sample_members(stream, length, count)

    def targets(self, language: Language, strings_BN: Symbols) -> Mask:
        """Return the legal symbols after every prefix, (B, N+1, S+1) bool."""
        return language.next_symbols(strings_BN)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean binary cross-entropy over all bits in nats."""
        return bit_nats(logits, targets).mean()

    def score(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return which strings are right throughout, and the mean bits per binary answer."""
        right = ((logits > 0) == targets.bool()).flatten(1).all(-1)
        return right, bit_nats(logits, targets).flatten(1).mean(-1) / math.log(2)

    def margin(self, logits: Tensor) -> Tensor:
        """Return the least absolute logit, (B,)."""
        return logits.abs().flatten(1).amin(-1)

    def show(self, language: Language, string: Symbols) -> str:
        """Return the sets, separated by spaces; ``$`` says "may end", ``!`` is the empty set."""
        sets = self.plain(language, language.next_symbols(string[None, :])[0])
        return " ".join(",".join(one) or NOTHING for one in sets)

    def plain(self, language: Language, target: npt.NDArray[Any]) -> list[list[str]]:
        """Return the sets as lists of symbols."""
        names = (*language.alphabet, END)
        return [[name for name, bit in zip(names, row, strict=True) if bit] for row in target]


def bit_nats(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross-entropy of each bit in nats, in the shape of `logits`."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(logits, targets.to(logits.dtype), reduction="none")
