"""An attention head of a hand-written network.

Legend: B batch, M positions, Q queries, D width, E dimensions of queries and keys, R coordinates
written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from formalbench_models.constructions.linear import Linear
from formalbench_models.constructions.pooling import (
    average,
    hard_weights,
    mean_rule,
    running_average,
    running_choice,
    soft_rule,
    soft_weights,
    totals,
)
from formalbench_models.constructions.vocabulary import ONE, Head, Ties

MOST_LOGITS = 1 << 22
"""How many logits are held at a time when no gradient is needed: 32 MiB in fp64."""

_REVERSED: Mapping[Ties, Ties] = {"first": "last", "last": "first", "mean": "mean"}


class AttentionHead(nn.Module):
    """One head.

    Its parameters are dense: `key` (E, D), `value` (R, D), `output` (D, R) and biases. A query
    that reads the stream is `query` (E, D) with its bias; one that is the same everywhere is
    `same_query` (E), so that it stays the same everywhere and the head stays O(n).

    Args:
        head: what it does.
        place: the index of each coordinate.
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
        """Return what is added at the positions first … stop-1, (B, Q, D).

        Q is 1 if the answer is the same at all of them.
        """
        exact = torch.promote_types(x_BMD.dtype, torch.float32)
        values_BMR = self.value(x_BMD).to(exact)
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
        """Return the attention weights up to a factor for each query."""
        logits_BQM = self._logits(x_BMD, first, stop)
        seen_QM = self._seen(x_BMD, first, stop)
        if self.head.attention == "hard":
            return hard_weights(logits_BQM, seen_QM, self.head.ties)
        return soft_weights(logits_BQM, seen_QM, self._factor(x_BMD, seen_QM))

    def _by_weights(self, x_BMD: Tensor, values_BMR: Tensor, first: int, stop: int) -> Tensor:
        return average(self._weights(x_BMD, first, stop), values_BMR)

    def _some_at_a_time(self, x_BMD: Tensor, values_BMR: Tensor, first: int, stop: int) -> Tensor:
        """Return the average for each query; without gradients, some queries at a time."""
        most = stop - first
        if not torch.is_grad_enabled():
            most = max(1, MOST_LOGITS // (x_BMD.shape[0] * x_BMD.shape[1] or 1))
        spans = [(at, min(at + most, stop)) for at in range(first, stop, most)]
        return torch.cat([self._by_weights(x_BMD, values_BMR, *span) for span in spans], dim=1)

    def _running(self, x_BMD: Tensor, values_BMR: Tensor) -> Tensor:
        """Return the average over what each position sees, (B, M, R), in O(M log M)."""
        logits_BM = self._logits(x_BMD, 0, 1)[:, 0].expand(values_BMR.shape[:2])
        past = self.head.mask == "past"  # seen: this position and those behind it
        if past:
            logits_BM, values_BMR = logits_BM.flip(1), values_BMR.flip(1)
        ties = _REVERSED[self.head.ties] if past else self.head.ties
        if self.head.attention == "soft":
            rule = soft_rule(self._scale(x_BMD.shape[1]))
            mixed_BMR = running_average(logits_BM, values_BMR, rule)
        elif ties == "mean":
            mixed_BMR = running_average(logits_BM, values_BMR, mean_rule)
        else:
            mixed_BMR = running_choice(logits_BM, values_BMR, ties)
        if self.head.strict:
            nothing_B1R = torch.zeros_like(mixed_BMR[:, :1])
            mixed_BMR = torch.cat((nothing_B1R, mixed_BMR[:, :-1]), dim=1)
        return mixed_BMR.flip(1) if past else mixed_BMR

    def _logits(self, x_BMD: Tensor, first: int, stop: int) -> Tensor:
        """Return query·key in fp32 at least: (B, Q, M), or (1, 1, M) of zeros if uniform."""
        exact = torch.promote_types(x_BMD.dtype, torch.float32)
        if not self.head.query:
            return torch.zeros_like(x_BMD[:1, :, 0], dtype=exact)[:, None]
        key_BME: Tensor = self.key(x_BMD)
        if self.head.same_for_every_query:
            logits_BQM = (key_BME @ self.same_query)[:, None]
        else:
            query_BQE: Tensor = self.query(x_BMD[:, first:stop])
            logits_BQM = query_BQE @ key_BME.mT
        return logits_BQM.to(exact)

    def _seen(self, x_BMD: Tensor, first: int, stop: int) -> Tensor | None:
        """Return what the queries may see, (Q, M); None for everything."""
        if self.head.mask == "none":
            return None
        key_M = torch.arange(x_BMD.shape[1], device=x_BMD.device)
        query_Q1 = key_M[first:stop, None]
        seen_QM = key_M <= query_Q1 if self.head.mask == "future" else key_M >= query_Q1
        return seen_QM & (key_M != query_Q1) if self.head.strict else seen_QM

    def _scale(self, positions: int) -> float:
        scale = self.head.scale
        return scale(positions) if callable(scale) else scale

    def _factor(self, x_BMD: Tensor, seen_QM: Tensor | None) -> float | Tensor:
        """Return what logits are multiplied by: a number, or one for each query, (Q, 1)."""
        positions = x_BMD.shape[1]
        if not self.head.log_length:
            return self._scale(positions)
        if seen_QM is None:
            return self._scale(positions) * math.log(positions)
        exact = torch.promote_types(x_BMD.dtype, torch.float32)
        count_Q1 = seen_QM.sum(-1, keepdim=True).clamp(min=1).to(exact)
        return self._scale(positions) * count_Q1.log()
