"""A construction as a network: linear maps, heads, layers, and the whole.

Mixed precision: a sum over positions is accumulated in fp32 at least, as the matrix units of any
device do, and a head's output is rounded to the parameters' precision. Weights are exp of
differences to the largest logit, so that no logit overflows.

Legend: B batch, N symbols or positions (keys), M positions (with added symbols), Q of them read or
queries, D width (coordinates), R coordinates of a value, E dimensions of queries and keys, P
position codes, K outputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from formalbench import Batch, ExtendedAlphabet, RequestError
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.constructions.construction import (
    ONE,
    Construction,
    FeedForward,
    Form,
    Head,
    Layer,
)
from formalbench_models.layers.feed_forward import layer_norm
from formalbench_models.layers.tensors import wide, wide_type


class Linear(nn.Module):
    """A linear map with bias, in fp64 and initially zero.

    D or K may be 0. torch's own class first draws random weights, and warns about empty ones.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs, dtype=torch.float64))
        self.bias = nn.Parameter(torch.zeros(outputs, dtype=torch.float64))

    @classmethod
    def of(cls, forms: Sequence[Form], place: Mapping[str, int]) -> Linear:
        """Return forms as a linear map, an output for each; `place` has each coordinate's index."""
        layer = cls(len(place), len(forms))
        with torch.no_grad():
            for row, form in enumerate(forms):
                for name, factor in form.items():
                    if name == ONE:
                        layer.bias[row] = factor
                    else:
                        layer.weight[row, place[name]] = factor
        return layer

    def forward(self, x_D: Tensor) -> Tensor:
        """Return (..., K) for (..., D)."""
        return functional.linear(x_D, self.weight, self.bias)


def soft_weights(logits_BQN: Tensor, seen_QN: Tensor | None, factor: float | Tensor) -> Tensor:
    """Return exp(factor · logits) of visible positions, (B, Q, N), scaled so that the largest is 1.

    Args:
        logits_BQN: in fp32 at least.
        seen_QN: what a query may see; None for everything.
        factor: a positive number, or one for each query, (Q, 1).
    """
    if seen_QN is not None:
        logits_BQN = torch.where(seen_QN, logits_BQN, torch.finfo(logits_BQN.dtype).min)
    weights_BQN = ((logits_BQN - logits_BQN.amax(-1, keepdim=True)) * factor).exp()
    return weights_BQN if seen_QN is None else torch.where(seen_QN, weights_BQN, 0.0)


def hard_weights(logits_BQN: Tensor, seen_QN: Tensor | None) -> Tensor:
    """Return 1 at the first largest visible logit, else 0, (B, Q, N)."""
    if seen_QN is not None:
        logits_BQN = torch.where(seen_QN, logits_BQN, torch.finfo(logits_BQN.dtype).min)
    best_BQN = logits_BQN == logits_BQN.amax(-1, keepdim=True)
    if seen_QN is not None:
        best_BQN = best_BQN & seen_QN
    return (best_BQN & (best_BQN.cumsum(-1) == 1)).to(logits_BQN.dtype)


def totals(weights_BQN: Tensor) -> Tensor:
    """Return the divisor (B, Q, 1): the sum of the weights, or 1 if it is 0."""
    total_BQ1 = weights_BQN.sum(-1, keepdim=True)
    return torch.where(total_BQ1 == 0, 1.0, total_BQ1)


def average(weights_BQN: Tensor, values_BNR: Tensor) -> Tensor:
    """Return the weighted average, (B, Q, R); 0 where there is no weight.

    Divided once, at the end: the uniform average of bits is k/n, correctly rounded.
    """
    if weights_BQN.shape[1] == 1:  # pairwise sums: more accurate over long strings
        sums_BQR = (weights_BQN.mT * values_BNR).sum(1, keepdim=True)
    else:
        sums_BQR = weights_BQN @ values_BNR
    return sums_BQR / totals(weights_BQN)


def running_average(logits_BN: Tensor, values_BNR: Tensor, factor: float) -> Tensor:
    """Return the softmax average over all positions up to each one, itself included; (B, N, R).

    Sums over 1, 2, 4, … positions are joined, each with its own largest logit: O(N log N), no
    overflow, and rounding errors that grow with log N.

    Args:
        logits_BN: in fp32 at least, the same for every query.
        values_BNR: what is averaged.
        factor: multiplies the logits.
    """
    largest_BN = logits_BN
    total_BN1 = torch.ones_like(logits_BN)[..., None]
    sums_BNR = torch.cat((values_BNR, total_BN1), dim=-1)
    reach = 1
    while reach < logits_BN.shape[1]:
        left_BN, right_BN = largest_BN[:, :-reach], largest_BN[:, reach:]
        both_BN = torch.maximum(left_BN, right_BN)
        joined_BNR = ((left_BN - both_BN) * factor).exp()[..., None] * sums_BNR[:, :-reach]
        of_right_BN = ((right_BN - both_BN) * factor).exp()
        joined_BNR = joined_BNR + of_right_BN[..., None] * sums_BNR[:, reach:]
        sums_BNR = torch.cat((sums_BNR[:, :reach], joined_BNR), dim=1)
        largest_BN = torch.cat((largest_BN[:, :reach], both_BN), dim=1)
        reach *= 2
    return sums_BNR[..., :-1] / sums_BNR[..., -1:]


def running_choice(logits_BN: Tensor, values_BNR: Tensor, *, last: bool) -> Tensor:
    """Return the value with the largest logit up to each position, itself included; (B, N, R).

    Nothing is summed: values are copied, in O(N).

    Args:
        logits_BN: the same for every query.
        values_BNR: what is chosen from.
        last: whether the last of several largest logits is taken, and not the first.
    """
    largest_BN = logits_BN.cummax(1).values
    nothing_B1 = torch.full_like(logits_BN[:, :1], -torch.inf)
    before_BN = torch.cat((nothing_B1, largest_BN[:, :-1]), dim=1)
    taken_BN = logits_BN >= before_BN if last else logits_BN > before_BN
    place_N = torch.arange(logits_BN.shape[1], device=logits_BN.device)
    place_BN = torch.where(taken_BN, place_N, 0).cummax(1).values
    return values_BNR.gather(1, place_BN[..., None].expand(values_BNR.shape))


MOST_LOGITS = 1 << 22
"""Maximum logits in memory when no gradient is needed: 32 MiB in fp64."""


class AttentionHead(nn.Module):
    """One head.

    Its parameters are dense: `key` (E, D), `value` (R, D), `output` (D, R) and biases. A query
    that reads the stream is `query` (E, D) with its bias; one that is the same everywhere is
    `same_query` (E), so that it stays the same everywhere and the head stays O(n).
    """

    def __init__(self, head: Head, place: Mapping[str, int]) -> None:
        super().__init__()
        self.head = head
        if head.query:
            self.key = Linear.of(head.key, place)
            if head.same_for_every_query:
                query = [float(each.get(ONE, 0.0)) for each in head.query]
                self.same_query = nn.Parameter(torch.tensor(query, dtype=torch.float64))
            else:
                self.query = Linear.of(head.query, place)
        self.value = Linear.of(list(head.values.values()), place)
        written = torch.zeros(len(place), len(head.values), dtype=torch.float64)
        for column, name in enumerate(head.values):
            written[place[name], column] = 1.0
        self.output = nn.Parameter(written)

    def forward(self, x_BMD: Tensor, first: int, stop: int) -> Tensor:
        """Return the head's output at the positions first … stop-1, (B, Q, D).

        Q is 1 if it is the same at all of them.
        """
        values_BMR = wide(self.value(x_BMD))
        if stop - first == 1:
            mixed_BQR = self._by_weights(x_BMD, values_BMR, first, stop)
        elif not self.head.same_for_every_query:
            mixed_BQR = self._some_at_a_time(x_BMD, values_BMR, first, stop)
        elif self.head.mask == "none":
            mixed_BQR = self._by_weights(x_BMD, values_BMR, 0, 1)
        elif self.head.log_length and self.head.attention == "soft":
            mixed_BQR = self._some_at_a_time(x_BMD, values_BMR, first, stop)
        else:
            mixed_BQR = self._running(x_BMD, values_BMR)[:, first:stop]
        return mixed_BQR.to(x_BMD.dtype) @ self.output.T

    def weights(self, x_BMD: Tensor, first: int, stop: int) -> Tensor:
        """Return the attention weights of the queries first … stop-1, (B, Q, M), fp32 at least."""
        weights_BQM = self._weights(x_BMD, first, stop)
        return weights_BQM / totals(weights_BQM)

    def _weights(self, x_BMD: Tensor, first: int, stop: int) -> Tensor:
        """Return unnormalised attention weights."""
        logits_BQM = self._logits(x_BMD, first, stop)
        mask_QM = self._mask(x_BMD, first, stop)
        if self.head.attention == "hard":
            return hard_weights(logits_BQM, mask_QM)
        return soft_weights(logits_BQM, mask_QM, self._factor(x_BMD, mask_QM))

    def _by_weights(self, x_BMD: Tensor, values_BMR: Tensor, first: int, stop: int) -> Tensor:
        return average(self._weights(x_BMD, first, stop), values_BMR)

    def _some_at_a_time(self, x_BMD: Tensor, values_BMR: Tensor, first: int, stop: int) -> Tensor:
        """Return the average for each query; without gradients, in parts."""
        most = stop - first
        if not torch.is_grad_enabled():
            most = max(1, MOST_LOGITS // (x_BMD.shape[0] * x_BMD.shape[1] or 1))
        spans = [(at, min(at + most, stop)) for at in range(first, stop, most)]
        return torch.cat([self._by_weights(x_BMD, values_BMR, *span) for span in spans], dim=1)

    def _running(self, x_BMD: Tensor, values_BMR: Tensor) -> Tensor:
        """Return the average over each position's visible positions, (B, M, R), in O(M log M)."""
        logits_BM = self._logits(x_BMD, 0, 1)[:, 0].expand(values_BMR.shape[:2])
        past = self.head.mask == "past"  # visible: this position and the following ones
        if past:
            logits_BM, values_BMR = logits_BM.flip(1), values_BMR.flip(1)
        if self.head.attention == "soft":
            mixed_BMR = running_average(logits_BM, values_BMR, self._scale(x_BMD.shape[1]))
        else:
            mixed_BMR = running_choice(logits_BM, values_BMR, last=past)
        if self.head.strict:
            nothing_B1R = torch.zeros_like(mixed_BMR[:, :1])
            mixed_BMR = torch.cat((nothing_B1R, mixed_BMR[:, :-1]), dim=1)
        return mixed_BMR.flip(1) if past else mixed_BMR

    def _logits(self, x_BMD: Tensor, first: int, stop: int) -> Tensor:
        """Return query·key in fp32 at least: (B, Q, M), or (1, 1, M) of zeros if uniform."""
        if not self.head.query:
            return torch.zeros_like(x_BMD[:1, :, 0], dtype=wide_type(x_BMD.dtype))[:, None]
        key_BME: Tensor = self.key(x_BMD)
        if self.head.same_for_every_query:
            logits_BQM = (key_BME @ self.same_query)[:, None]
        else:
            query_BQE: Tensor = self.query(x_BMD[:, first:stop])
            logits_BQM = query_BQE @ key_BME.mT
        return wide(logits_BQM)

    def _mask(self, x_BMD: Tensor, first: int, stop: int) -> Tensor | None:
        """Return the attention mask, (Q, M); None for no mask."""
        if self.head.mask == "none":
            return None
        key_M = torch.arange(x_BMD.shape[1], device=x_BMD.device)
        query_Q1 = key_M[first:stop, None]
        mask_QM = key_M <= query_Q1 if self.head.mask == "future" else key_M >= query_Q1
        return mask_QM & (key_M != query_Q1) if self.head.strict else mask_QM

    def _scale(self, positions: int) -> float:
        scale = self.head.scale
        return scale(positions) if callable(scale) else scale

    def _factor(self, x_BMD: Tensor, mask_QM: Tensor | None) -> float | Tensor:
        """Return the factor of the logits: a number, or one for each query, (Q, 1)."""
        positions = x_BMD.shape[1]
        if not self.head.log_length:
            return self._scale(positions)
        if mask_QM is None:
            return self._scale(positions) * math.log(positions)
        count_Q1 = mask_QM.sum(-1, keepdim=True).clamp(min=1).to(wide_type(x_BMD.dtype))
        return self._scale(positions) * count_Q1.log()


MOST_NUMBERS = 1 << 23
"""Maximum numbers in the residual stream when no gradient is needed: 64 MiB in fp64."""


class FeedForwardLayer(nn.Module):
    """A two-layer ReLU network with its residual connection."""

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
    """Heads, then feed-forward networks, each with a residual and a layer norm.

    `place` has each coordinate's index, `norm` is ε of the layer norms; None for none.
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
        x_BQD = x_BMD[:, first:stop]
        for head in self.heads:
            x_BQD = x_BQD + head(x_BMD, first, stop)
        return self.normed(x_BQD)

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
