"""Brackets as bits, and from scores to a language model (Yao et al. 2021).

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), §5.1. A token has its type t in binary, the openness bit o and a
position p; the start token γ is at i = 1.

Types count from 1, and 0 is the type of γ and of the end token ω, so that ω closes γ. The paper's
codes have ⌈log k⌉ bits, all of which brackets use up: γ and ω would look like brackets of the
type whose code is zero, and for k = 1 there would be no bits. Here they have ⌈log (k+1)⌉.

Definition 3.1: a language model generates a language if for some ε > 0 a string is in the language
iff each of its symbols, the end included, has probability ε or more. Appendix B.2 gives a symbol
that may come next at least one point more than any other. Times ln K + 2μ, K outputs, its
probability is at least 1/K, and that of any other at most exp(-2μ)/K: any ε between them will do,
and the one here is exp(-μ)/K.

Legend: B batch, N symbols, K outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from formalbench import Batch
from torch import Tensor, nn

from formalbench_models.constructions.construction import ONE, Code, FeedForward, Form, names
from formalbench_models.constructions.gates import greater_than_gate
from formalbench_models.constructions.network import HandWritten

START, END = "γ", "ω"
"""The added symbols; ``γ`` is also the coordinate that is 1 at γ alone."""


def type_bits(k: int) -> int:
    """Return ⌈log₂ (k+1)⌉, the length of a type's code."""
    return k.bit_length()


def type_names(prefix: str, k: int) -> tuple[str, ...]:
    """Return the names of the coordinates that hold a type, lowest bit first."""
    return names(prefix, type_bits(k))


def type_values(prefix: str, k: int) -> dict[str, Form]:
    """Return values by which a head brings a token's type."""
    types = zip(type_names(prefix, k), type_names("t", k), strict=True)
    return {target: {source: 1.0} for target, source in types}


def type_code(which: int, k: int) -> tuple[int, ...]:
    """Return a type's bits, lowest first; 0 is the type of γ and ω."""
    return tuple(which >> bit & 1 for bit in range(type_bits(k)))


def embedding(k: int, alphabet: Sequence[str]) -> dict[str, Form]:
    """Return the embedding: t, o, and what is γ. Nothing is written at ω: it closes type 0.

    Args:
        k: the number of bracket types.
        alphabet: 2k brackets; each opening one is followed by its close.
    """
    words: dict[str, Form] = {START: {"o": 1, START: 1}, END: {}}
    for index, symbol in enumerate(alphabet):
        code = zip(type_names("t", k), type_code(index // 2 + 1, k), strict=True)
        words[symbol] = {**{name: bit for name, bit in code if bit}, "o": 1 - index % 2}
    return words


def position(i_M: Tensor, n: int) -> Tensor:
    """Return i/n, where γ has i = 1; n is the number of tokens."""
    return (i_M + 1).double() / n


def position_of(most: int, power: int = 1) -> Code:
    """Return the code i/n^power where n is not the string's length but the greatest one.

    A generator cannot know how long its string will become.
    """

    def code(i_M: Tensor, n: int) -> Tensor:
        return (i_M + 1).double() / float(most) ** power

    return code


def to_bits(coordinates: Sequence[str]) -> FeedForward:
    """Round averages of bits to bits: below 1/4 to 0, above 3/4 to 1."""
    rounded = FeedForward(replaces=tuple(coordinates))
    for name in coordinates:
        rounded += greater_than_gate(name, {ONE: 0.25}, name, gap=0.5)
    return rounded


def close_scores(found: Sequence[str], k: int) -> tuple[Form, ...]:
    """Return how many bits of each type's code agree with a type found; type 0 is first.

    This is V of appendix B.2: the product of (z, 1 - z) with a code and its complement.
    """
    scores = []
    for which in range(k + 1):
        score: dict[str, float] = {ONE: 0.0}
        for name, bit in zip(found, type_code(which, k), strict=True):
            score[name] = 1.0 if bit else -1.0
            score[ONE] += 1 - bit
        scores.append(score)
    return tuple(scores)


def next_scores(found: Sequence[str], may_open: str, k: int) -> tuple[Form, ...]:
    """Return the output layer of a generator: a score for each symbol, and for the end.

    A symbol that may come next has as many points as a code has bits, any other at least one
    less (appendix B.2).

    Args:
        found: the coordinates that hold the type of the innermost open bracket, or of γ.
        may_open: the coordinate that is 1 where a bracket may open.
        k: the number of bracket types.
    """
    end, *closes = close_scores(found, k)
    opening: Form = {may_open: float(type_bits(k))}
    return (*(each for close in closes for each in (opening, close)), end)


class EveryPrefix(nn.Module):
    """Applies a network that answers at the last symbol to every prefix separately.

    Attention in both directions then ends at the prefix. Costs N+1 forward passes.

    Args:
        network: answers with (B, K).
    """

    def __init__(self, network: HandWritten) -> None:
        super().__init__()
        self.network = network
        self.construction = network.construction
        self.traits = replace(network.traits, causal=True)

    def forward(self, batch: Batch) -> Tensor:
        symbols_BN = batch.symbols
        prefixes = (symbols_BN[:, :stop] for stop in range(symbols_BN.shape[1] + 1))
        return torch.stack([self.network(Batch(prefix)) for prefix in prefixes], dim=1)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        return self.network.trace(batch)


class Generator(nn.Module):
    """A language model, made of a network that scores what may come next.

    Args:
        network: answers with scores (B, N+1, K), END last.
        margin: μ.
        threshold: whether logits are relative to ε: positive iff a symbol has probability ε at
            least (the objective `next-symbols`); else they are log-probabilities (`generate`).
        lengths: lengths at which it is correct; the network can read longer strings.

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
        scores: Tensor = self.network(batch)
        return (self.steepness * scores).log_softmax(-1) - self.log_epsilon

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return the trace of the scoring network."""
        return self.network.trace(batch)
