"""A construction as a network.

Legend: B batch, N symbols, M positions (with added symbols), Q of them read, D width, P position
codes, K outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from formalbench import Batch, ExtendedAlphabet, RequestError
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.constructions.construction import Construction, FeedForward, Layer
from formalbench_models.constructions.heads import AttentionHead, Linear
from formalbench_models.layers.feed_forward import layer_norm

MOST_NUMBERS = 1 << 23
"""Maximum numbers in the residual stream when no gradient is needed: 64 MiB in fp64."""


class FeedForwardLayer(nn.Module):
    """A two-layer ReLU network with its residual connection.

    Args:
        network: what it does.
        place: the index of each coordinate.
    """

    def __init__(self, network: FeedForward, place: Mapping[str, int]) -> None:
        super().__init__()
        self.norm = network.norm
        self.up = Linear.of([unit.reads for unit in network.units], place)
        self.down = Linear(len(network.units), len(place))
        with torch.no_grad():
            for column, unit in enumerate(network.units):
                for name, factor in unit.writes.items():
                    self.down.weight[place[name], column] = factor
            for name, value in network.constants.items():
                self.down.bias[place[name]] = value
        self.keep: Tensor
        self.replaced = [place[name] for name in network.replaces]
        keep = torch.ones(len(place), dtype=torch.float64)
        keep[self.replaced] = 0.0
        self.register_buffer("keep", keep, persistent=False)

    def forward(self, x_BQD: Tensor) -> Tensor:
        """Return the stream after it, (B, Q, D)."""
        hidden_BQH = self.up(x_BQD)
        if self.norm is not None:
            hidden_BQH = layer_norm(hidden_BQH, self.norm)
        change_BQD: Tensor = self.down(hidden_BQH.relu())
        return (x_BQD * self.keep if self.replaced else x_BQD) + change_BQD


class ConstructedLayer(nn.Module):
    """Heads, then feed-forward networks, each with a residual and, if wanted, a layer norm.

    Args:
        layer: what it does.
        place: the index of each coordinate.
        norm: ε of the layer norms; None for none.
    """

    def __init__(self, layer: Layer, place: Mapping[str, int], norm: float | None) -> None:
        super().__init__()
        self.norm = norm
        self.heads = nn.ModuleList(AttentionHead(head, place) for head in layer.heads)
        self.feed_forwards = nn.ModuleList(
            FeedForwardLayer(network, place) for network in layer.feed_forwards
        )

    def attend(self, x_BMD: Tensor, first: int, stop: int) -> Tensor:
        """Return the positions first … stop-1 after the heads, (B, Q, D)."""
        kept_BQD = x_BMD[:, first:stop]
        for head in self.heads:
            kept_BQD = kept_BQD + head(x_BMD, first, stop)
        return self.normed(kept_BQD)

    def normed(self, x_BQD: Tensor) -> Tensor:
        """Apply layer norm, if there is one."""
        return x_BQD if self.norm is None else layer_norm(x_BQD, self.norm)

    def forward(self, x_BMD: Tensor, first: int, stop: int) -> Tensor:
        """Return the positions first … stop-1 after the layer, (B, Q, D)."""
        x_BQD = self.attend(x_BMD, first, stop)
        for network in self.feed_forwards:
            x_BQD = self.normed(network(x_BQD))
        return x_BQD


class HandWritten(nn.Module):
    """A network compiled from a construction.

    Its weights are ordinary dense parameters: it can be perturbed and trained. They are made in
    fp64, so that `.to(dtype)` rounds each once. From the last layer with attention on, only the
    read position is computed; heads with the same query everywhere cost O(n). Without gradients, a
    large batch is computed in parts.

    Args:
        construction: what to build.
        alphabet: the task's symbols.

    Attributes:
        construction: the construction.
        traits: `Construction.traits`.
    """

    def __init__(self, construction: Construction, alphabet: Sequence[str]) -> None:
        super().__init__()
        self.construction = construction
        self.traits = construction.traits
        extra = [name for name in (construction.begin, construction.end) if name]
        self.alphabet = ExtendedAlphabet(len(alphabet), *extra)
        place = {name: index for index, name in enumerate(construction.coordinates)}
        rows = [construction.symbols[symbol] for symbol in (*alphabet, *extra)]
        self.embedding = Linear.of(rows, place).weight
        if construction.positions:
            writes = [position.writes for position in construction.positions]
            self.places = Linear.of(writes, place).weight
        self.layers = nn.ModuleList(
            ConstructedLayer(layer, place, construction.norm) for layer in construction.layers
        )
        self.readout = Linear.of(construction.logits, place)
        attending = [index for index, layer in enumerate(construction.layers) if layer.heads]
        self._last_attending = max(attending, default=-1)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits: (B, K), or (B, N, K) or (B, N+1, K), by what is read.

        Raises:
            RequestError: if it does not support strings of this length.
        """
        symbols_BN = batch.symbols
        self._check_length(symbols_BN.shape[1])
        if not torch.is_grad_enabled():
            row = (symbols_BN.shape[1] + 2) * len(self.construction.coordinates)
            most = max(1, MOST_NUMBERS // row)
            if len(symbols_BN) > most:
                return torch.cat([self._answer(some) for some in torch.split(symbols_BN, most)])
        return self._answer(symbols_BN)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return intermediate tensors at all positions.

        Returns:
            ``input[c]`` (B, M) for each coordinate c; for layer l (from 1) and each of its heads
            ``layer.l.head.NAME.attention`` (B, M, M), what is on the stream after its heads,
            ``layer.l.attention[c]``, and after its f-th feed-forward network,
            ``layer.l.feed_forward.f[c]``.
        """
        x_BMD = self._embed(batch.symbols)
        every = (0, x_BMD.shape[1])
        trace = self._named("input", x_BMD)
        for index, layer in enumerate(self.layers, 1):
            assert isinstance(layer, ConstructedLayer)
            for head in layer.heads:
                assert isinstance(head, AttentionHead)
                weights_BMM = head.weights(x_BMD, *every)
                name = f"layer.{index}.head.{head.head.name}.attention"
                trace[name] = weights_BMM.expand(len(x_BMD), every[1], every[1])
            x_BMD = layer.attend(x_BMD, *every)
            trace |= self._named(f"layer.{index}.attention", x_BMD)
            for number, network in enumerate(layer.feed_forwards, 1):
                x_BMD = layer.normed(network(x_BMD))
                trace |= self._named(f"layer.{index}.feed_forward.{number}", x_BMD)
        return trace

    def _named(self, point: str, x_BMD: Tensor) -> dict[str, Tensor]:
        coordinates = self.construction.coordinates
        return {f"{point}[{name}]": x_BMD[..., i] for i, name in enumerate(coordinates)}

    def _answer(self, symbols_BN: Tensor) -> Tensor:
        x_BMD = self._embed(symbols_BN)
        every, read = (0, x_BMD.shape[1]), self._read_span(x_BMD.shape[1])
        if self._last_attending < 0:
            x_BMD = x_BMD[:, slice(*read)]
        for index, layer in enumerate(self.layers):
            if index < self._last_attending:
                x_BMD = layer(x_BMD, *every)
            elif index == self._last_attending:
                x_BMD = layer(x_BMD, *read)
            else:
                x_BMD = layer(x_BMD, 0, x_BMD.shape[1])
        logits: Tensor = self.readout(x_BMD)
        return logits[:, 0] if self.construction.read in ("first", "last") else logits

    def _embed(self, symbols_BN: Tensor) -> Tensor:
        """Return the input of the residual stream, (B, M, D)."""
        ids_BM = symbols_BN
        if self.construction.begin:
            ids_BM = self.alphabet.prepend(ids_BM, self.construction.begin)
        if self.construction.end:
            ids_BM = self.alphabet.append(ids_BM, self.construction.end)
        x_BMD: Tensor = functional.embedding(ids_BM, self.embedding)
        if not self.construction.positions:
            return x_BMD
        i_M = torch.arange(ids_BM.shape[1], device=x_BMD.device)
        codes = [position.code(i_M, len(i_M)) for position in self.construction.positions]
        return x_BMD + torch.stack(codes, dim=-1).to(x_BMD.dtype) @ self.places

    def _read_span(self, positions: int) -> tuple[int, int]:
        """Return the positions that are read, as first and stop."""
        read, begin, end = (getattr(self.construction, name) for name in ("read", "begin", "end"))
        if read == "first":
            return 0, 1
        if read == "last":
            return positions - 1, positions
        return (1 if read == "each" and begin else 0), positions - (1 if end else 0)

    def _check_length(self, length: int) -> None:
        least, greatest = self.construction.lengths
        if length < least or (greatest is not None and length > greatest):
            bound = f"at least {least}" if greatest is None else f"{least} to {greatest}"
            raise RequestError(f"this construction reads strings of length {bound}, not {length}")
