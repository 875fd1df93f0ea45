"""Residual blocks of mixers, and the states for the readout.

x = x + mixer(norm(x));    x = x + MLP(norm(x)),

root-mean-square norms (Zhang and Sennrich 2019), one more after the topmost block. The MLP can be
left out (``feed_forward=0``), as Mamba's blocks have none. Answers come from the engine's
`Readout`. It is the same for all families, so that two of them differ in their mixer alone.

What a mixer keeps of the past, its state, is of a fixed size: a string can be read in pieces,
symbol by symbol if need be (`Backbone.go_on`).

Legend: B batch, M = N + 1 prefixes of N symbols, the empty one first, W width, N symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from formalbench import Batch, Task, Traits
from torch import Tensor, nn

from formalbench_models.catalogue.options import ShellConfig, in_theory
from formalbench_models.layers.feed_forward import PositionWise
from formalbench_models.layers.matrix_memory import without_last_state


def answering_states(states_BMW: Tensor, layout: str, batch: Batch) -> Tensor:
    """Return the states to answer from, of those after every prefix.

    Args:
        states_BMW: the state after every prefix.
        layout: where a network answers: ``last`` (B, W), ``each`` (B, N, W) or ``prefixes``.
        batch: says how long padded strings are.
    """
    if layout == "prefixes":
        return states_BMW
    if layout == "each":
        return states_BMW[:, 1:]
    if batch.lengths is None:
        return states_BMW[:, -1]
    index_B1W = batch.lengths[:, None, None].expand(-1, 1, states_BMW.shape[2])
    return states_BMW.gather(1, index_B1W).squeeze(1)


State = tuple[Tensor, ...] | None
"""What a mixer keeps of the symbols before; None at the start of a string."""

EPSILON = 1e-6
"""Added to the mean square by the norms."""


class Mixer(nn.Module):
    """What lets a symbol see those before it."""

    def __call__(self, x_BNW: Tensor, state: State = None) -> tuple[Tensor, State]:
        """Call `forward`; of no symbols nothing is made and the state stays as it is."""
        if not x_BNW.shape[1]:
            return x_BNW, state
        result: tuple[Tensor, State] = super().__call__(x_BNW, state)
        return result

    def forward(self, x_BNW: Tensor, state: State = None) -> tuple[Tensor, State]:
        """Return the change to x, (B, N, W), and what to keep.

        Args:
            x_BNW: the symbols.
            state: what was kept of those before; None at the start of a string.
        """
        raise NotImplementedError


class Block(nn.Module):
    """A mixer and an MLP, each with a norm and a residual."""

    def __init__(self, config: ShellConfig, mixer: Mixer) -> None:
        super().__init__()
        self.norm_mixer = nn.RMSNorm(config.width, eps=EPSILON)
        self.mixer = mixer
        self.feed_forward = None
        if config.feed_forward:
            self.norm_feed_forward = nn.RMSNorm(config.width, eps=EPSILON)
            self.feed_forward = PositionWise(config.width, config.feed_forward, "gelu")

    def forward(self, x_BNW: Tensor, state: State = None) -> tuple[Tensor, State]:
        """Return the symbols after the block, (B, N, W), and what to keep."""
        if not x_BNW.shape[1]:  # of no symbol, no mixer makes anything
            return x_BNW, state
        change_BNW, state = self.mixer(self.norm_mixer(x_BNW), state)
        x_BNW = x_BNW + change_BNW
        if self.feed_forward is not None:
            x_BNW = x_BNW + self.feed_forward(self.norm_feed_forward(x_BNW))
        return x_BNW, state


class Backbone(nn.Module):
    """Symbol embeddings and a stack of blocks; gives the state at every symbol.

    Args:
        task: gives the symbols.
        config: the width, the number of blocks, and the MLP's size.
        mixer: makes the mixer of a block, given its index.
        mechanisms: what theorems call it.
        eigenvalues: of its transitions, ``[0, 1]`` or ``[-1, 1]``, if they are within either; of
            products, those of each factor.
        block: makes a block of the config and its mixer.
    """

    def __init__(
        self,
        task: Task,
        config: ShellConfig,
        mixer: Callable[[int], Mixer],
        mechanisms: tuple[str, ...],
        eigenvalues: str = "",
        block: Callable[[Any, Any], nn.Module] = Block,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(task.alphabet), config.width)
        if config.embedding_scale != 1:
            with torch.no_grad():
                self.embedding.weight.mul_(config.embedding_scale)
        self.blocks = nn.ModuleList(block(config, mixer(index)) for index in range(config.layers))
        self.norm: nn.Module = nn.RMSNorm(config.width, eps=EPSILON)
        self.traits = Traits(
            backbone=config.width,
            padding=True,
            symbol_embedding="embedding",
            mechanisms=("fixed-depth", *mechanisms),
            eigenvalues=eigenvalues,
            depth=config.layers,
            width=config.width,
        )

    def forward(self, batch: Batch) -> Tensor:
        """Return the state at every symbol, (B, N, W)."""
        with without_last_state():
            return self.go_on(batch.symbols, [None] * len(self.blocks))[0]

    def go_on(self, symbols_BN: Tensor, kept: Sequence[State]) -> tuple[Tensor, list[State]]:
        """Read the next symbols of strings.

        Args:
            symbols_BN: the next symbols, one of each string or several.
            kept: what each block kept of the symbols before; all None at the start.

        Returns:
            The state at each of these symbols, (B, N, W), and what the blocks keep, whose size
            does not depend on how much was read.
        """
        states = list(self._layers(symbols_BN, kept))
        states_BNW: Tensor = self.norm(states[-1][0])
        return states_BNW, [state for _, state in states[1:]]

    def state_size(self, length: int) -> int:
        """Return how many numbers the blocks keep of a string; see `Stateful`."""
        with torch.no_grad():
            symbols_1N = torch.zeros(
                1, length, dtype=torch.long, device=self.embedding.weight.device
            )
            _, states = self.go_on(symbols_1N, [None] * len(self.blocks))
        parts = [part for state in states for part in state or ()]
        return sum(part.numel() * (2 if part.is_complex() else 1) for part in parts)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``state.0`` (B, N, W), the embeddings, and ``state.{l}``, what leaves block l."""
        states = self._layers(batch.symbols, [None] * len(self.blocks))
        return {f"state.{index}": x_BNW for index, (x_BNW, _) in enumerate(states)}

    def _layers(
        self, symbols_BN: Tensor, states: Sequence[State]
    ) -> Iterator[tuple[Tensor, State]]:
        """Yield the embeddings, (B, N, W), then what leaves each block, and what it keeps."""
        x_BNW = self.embedding(symbols_BN)
        yield x_BNW, None
        for block, state in zip(self.blocks, states, strict=True):
            x_BNW, state = block(x_BNW, state)
            yield x_BNW, state


GATED = ("diagonal-recurrence", "input-dependent-gates")
"""What theorems call a recurrence whose numbers a symbol chooses."""


def backbone_of(
    mixer: Callable[[Any], Mixer], *mechanisms: str, eigenvalues: str = ""
) -> Callable[[Task, Any], Backbone]:
    """Return what builds a network of blocks with such mixers, each made of the config.

    Where the config has the option `eigenvalues`, that is their range.
    """

    def build(task: Task, config: Any) -> Backbone:
        chosen = getattr(config, "eigenvalues", None)
        own = in_theory(chosen) if chosen else eigenvalues
        return Backbone(task, config, lambda _: mixer(config), mechanisms, own)

    return build
