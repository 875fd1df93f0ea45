"""From scores to a language model.

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), Definition 3.1: a language model generates a language if for some
ε > 0 a string is in the language iff each of its symbols, the end included, has probability ε or
more. Appendix B.2 gives a symbol that may come next at least one point more than any other. Times
ln K + 2μ, K outputs, its probability is at least 1/K, and that of any other at most
exp(-2μ)/K: any ε between them will do, and the one here is exp(-μ)/K.

Legend: B batch, N symbols, K outputs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from formalbench import Batch
from torch import Tensor, nn

from formalbench_models.constructions.network import HandWritten


class EveryPrefix(nn.Module):
    """A network that answers at the last symbol, asked about every prefix on its own.

    What it sees in both directions then ends with the prefix. Costs N+1 runs.

    Args:
        network: answers with (B, K).
    """

    def __init__(self, network: HandWritten) -> None:
        super().__init__()
        self.network = network
        self.construction = network.construction
        self.traits = replace(network.traits, causal=True)

    def forward(self, batch: Batch) -> Tensor:
        """Return the answers after every prefix, the empty one first, (B, N+1, K)."""
        symbols_BN = batch.symbols
        prefixes = (symbols_BN[:, :stop] for stop in range(symbols_BN.shape[1] + 1))
        return torch.stack([self.network(Batch(prefix)) for prefix in prefixes], dim=1)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Look inside, at the whole strings."""
        return self.network.trace(batch)


class Generator(nn.Module):
    """A language model, made of a network that scores what may come next.

    Args:
        network: answers with scores (B, N+1, K), END last.
        margin: μ.
        threshold: whether logits are relative to ε: positive iff a symbol has probability ε at
            least (the objective `next-symbols`); else they are log-probabilities (`generate`).
        lengths: of the strings it is right about; the network itself may read longer ones.

    Attributes:
        traits: those of the network, with ε and μ among the constants.
    """

    def __init__(
        self,
        network: HandWritten | EveryPrefix,
        margin: float,
        *,
        threshold: bool,
        lengths: tuple[int, int | None],
    ) -> None:
        super().__init__()
        self.network = network
        outputs = len(network.construction.logits)
        self.steepness = math.log(outputs) + 2 * margin
        self.log_epsilon = -math.log(outputs) - margin if threshold else 0.0
        epsilon = math.exp(-margin) / outputs
        constants = {**network.traits.constants, "epsilon": epsilon, "margin": margin}
        self.traits = replace(network.traits, constants=constants, lengths=lengths)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits, (B, N+1, K)."""
        scores: Tensor = self.network(batch)
        return (self.steepness * scores).log_softmax(-1) - self.log_epsilon

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Look inside the network that scores."""
        return self.network.trace(batch)
