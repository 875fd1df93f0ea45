"""Beam search, and its naive reference.

The two share no code; tests compare them.

At each step, every hypothesis is extended by every output, or kept unchanged if it has ended. The W
hypotheses with the greatest log-probability / ((5 + length) / 6)^alpha remain, where the length
includes END (Wu et al. 2016, equation 14). A beam of 1 chooses the most likely symbol each time.
`search_naive` computes the same result slowly.

Legend: B strings, W hypotheses of each, R = B·W rows, Q symbols so far, K outputs (the last: END).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.network import Batch, Example, Kept, Stepwise
from formalbench.contracts.protocol import Protocol

Say = Callable[[Sequence[int]], Sequence[float]]
"""Maps the symbols so far to the log-probability of each next output, END last."""


class Hypothesis(NamedTuple):
    """A partial or complete answer.

    Attributes:
        said: its symbols, without END.
        ended: whether it ended with END.
        sum: the sum of log-probabilities.
    """

    said: tuple[int, ...]
    ended: bool
    sum: float


def search_naive(say: Say, room: int, beam: int, length_penalty: float) -> list[int]:
    """Return the best answer found; see `search`."""

    def score(one: Hypothesis) -> float:
        length = len(one.said) + one.ended
        return one.sum / math.pow((5 + length) / 6, length_penalty)

    hypotheses = [Hypothesis((), ended=False, sum=0.0)]
    while not all(one.ended for one in hypotheses):
        candidates = []
        for one in hypotheses:
            if one.ended:
                candidates.append(one)
                continue
            *symbols, end = say(one.said)
            candidates.append(Hypothesis(one.said, True, one.sum + end))
            if len(one.said) < room:
                candidates += [
                    Hypothesis((*one.said, symbol), False, one.sum + logarithm)
                    for symbol, logarithm in enumerate(symbols)
                ]
        hypotheses = sorted(candidates, key=score, reverse=True)[:beam]
    return list(hypotheses[0].said)


class Search(NamedTuple):
    """The settings of a search.

    Attributes:
        beam: number of hypotheses per string.
        length_penalty: alpha.
    """

    beam: int = 1
    length_penalty: float = 0.0

    def penalty(self, lengths: Tensor) -> Tensor:
        """Return the divisor of the log-probability of answers, by their lengths including END."""
        return ((5 + lengths) / 6) ** self.length_penalty


def search_of(protocol: Protocol) -> Search | None:
    """Return the search settings of a protocol's test; None if it does not search."""
    test = protocol.test
    return None if test.beam is None else Search(test.beam, test.length_penalty or 0.0)


class BestHypotheses(NamedTuple):
    """The best hypothesis of each string.

    Attributes:
        said: (B, Q) its symbols, followed by END.
        finite: (B,) whether all logits of the search were finite.
    """

    said: Tensor
    finite: Tensor


@torch.no_grad()
def search(network: nn.Module, batch: Batch, room: int, how: Search) -> BestHypotheses:
    """Return the best answer of at most `room` symbols to each string of a batch.

    The network has the layout ``decoded``; if it is `Stepwise`, it is called step by step.
    """
    decoder: Stepwise = network if isinstance(network, Stepwise) else _WholeAnswerDecoder(network)
    lengths = None if batch.lengths is None else batch.lengths.repeat_interleave(how.beam)
    wide = Batch(batch.symbols.repeat_interleave(how.beam, dim=0), lengths)
    logits_RK, state = decoder.next(decoder.begin(wide), None)
    beams = _Beams(len(batch.symbols), how, logits_RK)
    for step in range(room + 1):
        rows_R = beams.extend(logits_RK, last=step == room)
        if step == room or bool(beams.over_BW.all()):
            break
        state = tuple(part[rows_R] for part in state)
        logits_RK, state = decoder.next(state, beams.newest())
    return BestHypotheses(beams.symbols_BWQ[:, 0], beams.finite_B)


def searched(network: nn.Module, example: Example, room: int, outputs: int, how: Search) -> Tensor:
    """Return logits that encode the answers found: 1 at each symbol and then at END; (B, Q, K).

    Q is at least the length of the longest correct answer including END. The logits are NaN for
    strings with a logit that was not finite during the search.
    """
    symbols_BQ, finite_B = search(network, example.batch, room, how)
    more = max(0, example.decoded.shape[1] + 1 - symbols_BQ.shape[1])
    symbols_BQ = nn.functional.pad(symbols_BQ, (0, more), value=outputs - 1)
    logits = torch.zeros((*symbols_BQ.shape, outputs), device=symbols_BQ.device)
    logits.scatter_(-1, symbols_BQ[..., None], 1.0)
    logits[~finite_B] = math.nan
    return logits


class _Beams:
    """The hypotheses of all strings, the best first."""

    def __init__(self, count: int, how: Search, like: Tensor) -> None:
        self._how, self._end = how, like.shape[-1] - 1
        shape = (count, how.beam)
        exact = torch.promote_types(like.dtype, torch.float32)
        # All hypotheses start equal, so only the first counts.
        self.sums_BW = torch.full(shape, -math.inf, dtype=exact, device=like.device)
        self.sums_BW[:, 0] = 0.0
        self.over_BW = torch.zeros(shape, dtype=torch.bool, device=like.device)
        self.lengths_BW = torch.zeros(shape, dtype=torch.int64, device=like.device)
        self.symbols_BWQ = torch.zeros((*shape, 0), dtype=torch.int64, device=like.device)
        self.finite_B = torch.ones(count, dtype=torch.bool, device=like.device)

    def extend(self, logits_RK: Tensor, *, last: bool) -> Tensor:
        """Extend the best hypotheses; return the row that each one came from, (R,)."""
        (count, beam), outputs = self.sums_BW.shape, self._end + 1
        logits_BWK = logits_RK.to(self.sums_BW.dtype).view(count, beam, outputs)
        counts_BW = ~self.over_BW & self.sums_BW.isfinite()
        self.finite_B &= (logits_BWK.isfinite().all(-1) | ~counts_BW).all(-1)
        next_BWK = logits_BWK.log_softmax(-1)
        ends_BW = self.over_BW | last
        end_BW = next_BWK[..., -1].where(~self.over_BW, 0.0)
        next_BWK = next_BWK.masked_fill(ends_BW[..., None], -math.inf)
        next_BWK[..., -1] = end_BW
        totals_BWK = self.sums_BW[..., None] + next_BWK
        lengths_BW = self.lengths_BW + ~self.over_BW
        scores_BWK = totals_BWK / self._how.penalty(lengths_BW)[..., None]
        best_BW = scores_BWK.flatten(1).topk(beam).indices
        parent_BW, token_BW = best_BW // outputs, best_BW % outputs
        self.sums_BW = totals_BWK.flatten(1).gather(1, best_BW)
        self.lengths_BW = lengths_BW.gather(1, parent_BW)
        # A wide beam can have more places than there are answers; the other places stay empty.
        self.over_BW = (token_BW == self._end) | self.sums_BW.isneginf()
        prefix_BWQ = self.symbols_BWQ.gather(1, parent_BW[..., None].expand_as(self.symbols_BWQ))
        self.symbols_BWQ = torch.cat((prefix_BWQ, token_BW[..., None]), dim=-1)
        first_B1 = torch.arange(count, device=best_BW.device)[:, None] * beam
        return (first_B1 + parent_BW).flatten()

    def newest(self) -> Tensor:
        """Return the last symbol of each row, (R,); arbitrary if the row has ended."""
        return self.symbols_BWQ[..., -1].where(~self.over_BW, 0).flatten()


class _WholeAnswerDecoder:
    """A network that is called on the whole answer so far at each step."""

    def __init__(self, network: nn.Module) -> None:
        self._network = network

    def begin(self, batch: Batch) -> Kept:
        """Return the state: the strings, their lengths and the symbols so far."""
        answers_B0 = batch.symbols.new_zeros((len(batch.symbols), 0))
        lengths = () if batch.lengths is None else (batch.lengths,)
        return (batch.symbols, answers_B0, *lengths)

    def next(self, state: Kept, symbol_B: Tensor | None) -> tuple[Tensor, Kept]:
        """Return the logits of the next symbol, and the new state."""
        symbols, answers_BM, *lengths = state
        if symbol_B is not None:
            answers_BM = torch.cat((answers_BM, symbol_B[:, None]), dim=1)
        logits = self._network(Batch(symbols, lengths[0] if lengths else None, answers_BM))
        return logits[:, -1], (symbols, answers_BM, *lengths)
