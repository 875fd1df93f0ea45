"""PARITY and FIRST (Chiang and Cholak 2022), and Rumelhart's feed-forward network.

Source: "Overcoming a theoretical limitation of self-attention" (2022), §2.2, 2.3 and 4.2.
n counts CLS, position 0; k is the number of 1s. Where the paper's queries hold c√d, to be divided
by √d again, the ones here hold c: the constant as it acts on the logits.

Source: Rumelhart, Hinton & Williams (1986), as in Chiang & Cholak (2022), §2.1.

Legend: B batch, n inputs and hidden units.
"""

from __future__ import annotations

import torch
from formalbench import Batch, RequestError, Task, Traits
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.constructions import FfnnParityConfig
from formalbench_models.constructions.construction import (
    Construction,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    Layer,
    Position,
    alternating,
    fraction,
    is_first_symbol,
)

_WORDS: dict[str, Form] = {"0": {"is 0": 1}, "1": {"is 1": 1}, "CLS": {"is CLS": 1}}


def parity(c: float = 1.0) -> Construction:
    """Return the transformer for PARITY (§2.2): two layers, two heads, width 9.

    The first layer counts: k/n and 1/n. Its feed-forward network tests each position for i = k,
    as I[i=k]/n. The second layer tests whether position k is odd: one head attends more to odd
    positions, the other to even ones. For even n the logit is (-1)^{k+1} (2/n²) tanh c, so its
    precision must tell numbers that are 1/n apart and hold 1/n². (The paper prints 2/n, losing
    the 1/n that the eighth coordinate carries.)

    Args:
        c: c > 0, of the second layer's queries.
    """
    cls = ({"is CLS": c},)
    return Construction(
        coordinates=("is 0", "is 1", "is CLS", "i/n", "cos iπ", "k/n", "1/n", "[i=k]/n", "s"),
        symbols=_WORDS,
        positions=(Position(fraction, {"i/n": 1}), Position(alternating, {"cos iπ": 1})),
        layers=(
            Layer(
                heads=(Head("count", {"k/n": {"is 1": 1}, "1/n": {"is CLS": 1}}),),
                feed_forwards=(
                    FeedForward(
                        (
                            HiddenUnit({"i/n": -1, "k/n": 1, "1/n": -1}, {"[i=k]/n": 1}),
                            HiddenUnit({"i/n": -1, "k/n": 1}, {"[i=k]/n": -2}),
                            HiddenUnit({"i/n": -1, "k/n": 1, "1/n": 1}, {"[i=k]/n": 1}),
                        )
                    ),
                ),
            ),
            Layer(
                heads=(
                    Head("odd", {"s": {"[i=k]/n": 1}}, key=({"cos iπ": -1},), query=cls),
                    Head("even", {"s": {"[i=k]/n": -1}}, key=({"cos iπ": 1},), query=cls),
                )
            ),
        ),
        logits=({}, {"s": 1}),
        begin="CLS",
        constants={"c": c},
        precision="O(log n) bits: differences of 1/n, logits of 1/n²",
    )


def first(c: float = 1.0, *, log_length: bool = False) -> Construction:
    """Return the transformer for FIRST (§2.3, 4.3): two layers, one head, width 6.

    The feed-forward network marks the first position if it holds a 1. In the second layer CLS
    attends to the first position, and all the others hold the value 0. The logit is
    exp c / (exp c + n - 1) · (I[w_1 = 1] - 1/2), with log-length scaling n^c in the place of
    exp c; for the empty string it is 0.

    Args:
        c: c > 0, of the second layer's query.
        log_length: whether logits are multiplied by ln n.
    """
    return Construction(
        coordinates=("is 0", "is 1", "is CLS", "[i=1]", "[w_1=1]", "s"),
        symbols=_WORDS,
        positions=(Position(is_first_symbol, {"[i=1]": 1}),),
        layers=(
            Layer(
                feed_forwards=(
                    FeedForward(
                        (HiddenUnit({"is 0": -1, "is CLS": -1, "[i=1]": 1}, {"[w_1=1]": 1}),)
                    ),
                )
            ),
            Layer(
                heads=(
                    Head(
                        "first",
                        values={"s": {"[i=1]": -0.5, "[w_1=1]": 1}},
                        query=({"is CLS": c},),
                        key=({"[i=1]": 1},),
                        log_length=log_length,
                    ),
                )
            ),
        ),
        logits=({}, {"s": 1}),
        begin="CLS",
        constants={"c": c},
        precision=(
            "O(1) bits: with log-length scaling |logit| > 1/4"
            if log_length
            else "O(log n) bits: logits of 1/n"
        ),
    )


def flawed_first(c: float = 1.0, *, log_length: bool = False) -> Construction:
    """Return the flawed transformer for FIRST (§4.2): one layer, one head, width 5.

    The values of the other positions are not zero: without log-length scaling it fails on
    ``1 0 0 … 0`` iff exp c ≤ n - 1, and on ``0 1 1 … 1`` iff exp c < n - 3 (|w| ≥ 2); with it,
    never if c ≥ 1.

    Args:
        c: c > 0, of the query.
        log_length: whether logits are multiplied by ln n.
    """
    return Construction(
        coordinates=("is 0", "is 1", "is CLS", "[i=1]", "s"),
        symbols=_WORDS,
        positions=(Position(is_first_symbol, {"[i=1]": 1}),),
        layers=(
            Layer(
                heads=(
                    Head(
                        "first",
                        values={"s": {"is 0": -0.5, "is 1": 0.5, "is CLS": -0.5}},
                        query=({"is CLS": c},),
                        key=({"[i=1]": 1},),
                        log_length=log_length,
                    ),
                )
            ),
        ),
        logits=({}, {"s": 1}),
        begin="CLS",
        constants={"c": c},
        precision="O(log n) bits: logits of 1/n",
    )


class ParityFFNN(nn.Module):
    """PARITY of exactly n symbols by two layers of step functions.

    The first layer compares the number k of 1s with 1, …, n: h_j = I[k ≥ j]. The second adds the
    odd ones and subtracts the even ones: its logit is 1/2 if k is odd and -1/2 if it is even. It
    needs whole numbers up to n, and halves.

    Args:
        task: PARITY.
        config: n, the length of the strings.
    """

    def __init__(self, task: Task, config: FfnnParityConfig) -> None:
        super().__init__()
        self.n = n = config.n
        self.traits = Traits(
            causal=False,
            lengths=(n, n),
            constants={"n": float(n)},
            depth=2,
            width=n,
            notes={
                "heads": 0,
                "hidden": n,
                "precision": "O(log n) bits: counts up to n, and halves",
            },
        )
        one = torch.ones(n, dtype=torch.float64)
        threshold_n = torch.arange(n, dtype=torch.float64) + 0.5
        sign_n = 1.0 - 2.0 * (torch.arange(n, dtype=torch.float64) % 2)
        self.weight_1 = nn.Parameter(one[:, None] * one)
        self.bias_1 = nn.Parameter(-threshold_n)
        self.weight_2 = nn.Parameter(sign_n[None])
        self.bias_2 = nn.Parameter(-0.5 * one[:1])

    def forward(self, batch: Batch) -> Tensor:
        """Return logits (0, s), (B, 2).

        Raises:
            RequestError: if the strings are not of length n.
        """
        return self._run(batch)["logits"]

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``x`` and ``hidden`` (B, n) and ``logits`` (B, 2)."""
        return self._run(batch)

    def _run(self, batch: Batch) -> dict[str, Tensor]:
        n, length = self.n, batch.symbols.shape[1]
        if length != n:
            raise RequestError(
                f"ffnn-parity has {n} inputs and reads no string of length {length}: "
                f"--set n={max(1, length)}"
            )
        x_Bn = batch.symbols.to(self.weight_1.dtype)
        sums_Bn = functional.linear(x_Bn, self.weight_1, self.bias_1)
        hidden_Bn = (sums_Bn > 0).to(x_Bn.dtype)
        logit_B1 = functional.linear(hidden_Bn, self.weight_2, self.bias_2)
        logits_B2 = torch.cat((torch.zeros_like(logit_B1), logit_B1), dim=-1)
        return {"x": x_Bn, "hidden": hidden_Bn, "logits": logits_B2}
