"""The looped transformer: one block, or a few, for as many rounds as a string asks for.

Source: Fan, Du, Ramchandran & Lee, "Looped transformers for length generalization" (2024), §3 and
figure 2; the loop with its input injected: Yang, Lee, Nowak & Papailiopoulos, "Looped transformers
are better at learning learning algorithms" (2024), §4; universal transformers: Dehghani et al.
(2019). From x_0 = 0 and the input e,

    x_r = block(x_{r-1} + e),    r = 1 … R(n).

With ``norm_rounds`` x_r is the last layer norm of that, as in the code of Yang et al., which loops
a whole GPT-2; else that norm is taken once, of what is read.

R(n) is a multiple of ⌈log₂(n+1)⌉, of n, or of 1, and at least that once. Fan et al. know a number
of rounds for each task and stop by the network's confidence; here R is a function of the length
alone. Under a mask the answer to a prefix of n symbols is read off its last position after its own
R(n) rounds, so that it is what the prefix would get alone.

Legend: B batch, M positions (the begin symbol first), D width.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from formalbench import Batch, Task, read_asked
from torch import Tensor

from formalbench_models.catalogue.transformers import LoopedConfig, Rounds
from formalbench_models.families.transformer import Transformer
from formalbench_models.layers.attention import Span

_MECHANISMS: dict[Rounds, str] = {
    "fixed": "fixed-depth",
    "length": "linear-rounds",
    "log": "logarithmic-rounds",
}


def rounds_of(length: int, kind: Rounds, times: int) -> int:
    """Return R(n), for strings of n symbols."""
    each = {"fixed": 1, "length": length, "log": length.bit_length()}[kind]
    return times * max(1, each)


def depth(length: int, kind: Rounds, times: int, layers: int) -> int:
    """Return how many blocks a string of this length goes through."""
    return rounds_of(length, kind, times) * layers


class LoopedTransformer(Transformer):
    """A transformer whose blocks repeat."""

    def __init__(self, task: Task, config: LoopedConfig) -> None:
        super().__init__(task, config)
        self.rounds, self.times, self.inject = config.rounds, config.times, config.inject
        self.norm_rounds = config.norm_rounds
        # The number of rounds tells the length, as positions do.
        removed = {"fixed-depth"} if config.rounds == "fixed" else {"fixed-depth", "no-positions"}
        mechanisms = [name for name in self.traits.mechanisms if name not in removed]
        mechanisms.append(_MECHANISMS[config.rounds])
        self.traits = replace(
            self.traits,
            mechanisms=tuple(mechanisms),
            depth=partial(depth, kind=self.rounds, times=self.times, layers=config.layers),
        )

    def forward(self, batch: Batch) -> Tensor:
        read_BMD = self._loop(batch, None)
        first, stop = self._read_span(batch)
        read_BQD = self._select(read_BMD[:, first:stop], batch)
        normed_BQD = read_BQD if self.norm_rounds else self.norm(read_BQD)
        return read_asked(self.readout, normed_BQD, batch.asked)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return intermediate tensors by name.

        Returns:
            ``input`` (B, M, D), the embedding; for each round r and each block l in it,
            ``round.r.block.l.attention`` (B, H, M, M) and, after the round, ``state.r``
            (B, M, D); ``read`` (B, M, D), what answers are read from; ``first.position`` and
            ``answer.position`` as of a transformer.
        """
        trace: dict[str, Tensor] = {}
        trace["read"] = self._loop(batch, trace)
        return trace | self._positions(batch)

    def _loop(self, batch: Batch, trace: dict[str, Tensor] | None) -> Tensor:
        """Return each position's state after the rounds that its answer is to have, (B, M, D)."""
        lengths_B = None if batch.lengths is None else batch.lengths + 1
        input_BMD, every = self._embed(batch, lengths_B)
        if trace is not None:
            trace["input"] = input_BMD
        wanted_BM1 = self._wanted(batch)
        x_BMD = read_BMD = input_BMD if not self.inject else torch.zeros_like(input_BMD)
        for number in range(1, rounds_of(every.stop - 1, self.rounds, self.times) + 1):
            x_BMD = x_BMD + input_BMD if self.inject else x_BMD
            x_BMD = self._round(x_BMD, every, lengths_B, number, trace)
            read_BMD = torch.where(wanted_BM1 == number, x_BMD, read_BMD)
        return read_BMD

    def _round(
        self,
        x_BMD: Tensor,
        every: Span,
        lengths_B: Tensor | None,
        number: int,
        trace: dict[str, Tensor] | None,
    ) -> Tensor:
        keep = trace is not None
        for index, block in enumerate(self.blocks):
            x_BMD, weights_BHMM = block(x_BMD, every, lengths_B, keep_weights=keep)
            if trace is not None:
                trace[f"round.{number}.block.{index}.attention"] = weights_BHMM
        if self.norm_rounds:
            x_BMD = self.norm(x_BMD)
        if trace is not None:
            trace[f"state.{number}"] = x_BMD
        return x_BMD

    def _wanted(self, batch: Batch) -> Tensor:
        """Return after which round each position is read, (1 or B, 1 or M, 1)."""
        if self.causal:
            length_BM = torch.arange(batch.symbols.shape[1] + 1, device=batch.symbols.device)[None]
        elif batch.lengths is None:
            length_BM = batch.symbols.new_full((1, 1), batch.symbols.shape[1])
        else:
            length_BM = batch.lengths[:, None]
        each_BM = length_BM if self.rounds == "length" else torch.ones_like(length_BM)
        if self.rounds == "log":
            bits = torch.arange(batch.symbols.shape[1].bit_length(), device=length_BM.device)
            each_BM = (length_BM[..., None] >> bits > 0).sum(-1)
        return self.times * each_BM.clamp(min=1)[..., None]
