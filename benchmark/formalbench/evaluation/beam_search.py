"""Beam search, beside its naive reference.

It shares no code with that one; tests compare the two.

At each step every hypothesis goes on with every output, or stays as it is if it has ended; kept are
the W with the greatest log-probability / ((5 + length) / 6)^alpha, END counted (Wu et al. 2016,
equation 14). A beam of 1 says the likeliest symbol each time. `search_naive` is the same, slowly.

Legend: B strings, W hypotheses of each, R = B·W rows, Q symbols said, K outputs, the last one END.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.example import Batch, Example
from formalbench.contracts.network import Kept, Stepwise
from formalbench.contracts.protocol import Protocol

Say = Callable[[Sequence[int]], Sequence[float]]
"""From what has been said to the log-probability of each output next, END last."""


class Hypothesis(NamedTuple):
    """An answer, or the beginning of one.

    Attributes:
        said: its symbols, without END.
        ended: whether END was said.
        sum: of log-probabilities.
    """

    said: tuple[int, ...]
    ended: bool
    sum: float


def search_naive(say: Say, room: int, beam: int, length_penalty: float) -> list[int]:
    """Return the best answer that is found; `search` says how."""

    def score(one: Hypothesis) -> float:
        length = len(one.said) + one.ended
        return one.sum / math.pow((5 + length) / 6, length_penalty)

    kept = [Hypothesis((), ended=False, sum=0.0)]
    while not all(one.ended for one in kept):
        candidates = []
        for one in kept:
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
        kept = sorted(candidates, key=score, reverse=True)[:beam]
    return list(kept[0].said)


class Search(NamedTuple):
    """How answers are searched for.

    Attributes:
        beam: hypotheses of each string.
        length_penalty: alpha.
    """

    beam: int = 1
    length_penalty: float = 0.0

    def penalty(self, lengths: Tensor) -> Tensor:
        """Return what the log-probability of so many symbols, END counted, is divided by."""
        return ((5 + lengths) / 6) ** self.length_penalty


def search_of(protocol: Protocol) -> Search | None:
    """Return how a protocol's test searches for answers; None if it does not."""
    test = protocol.test
    return None if test.beam is None else Search(test.beam, test.length_penalty or 0.0)


class Searched(NamedTuple):
    """The best hypothesis of each string.

    Attributes:
        said: (B, Q) what it says, END behind it.
        finite: (B,) whether all logits were numbers on the way.
    """

    said: Tensor
    finite: Tensor


@torch.no_grad()
def search(network: nn.Module, batch: Batch, room: int, how: Search) -> Searched:
    """Search for the answers to a batch.

    Args:
        network: answers the layout ``decoded``; step by step if it can (`Stepwise`).
        batch: the strings.
        room: symbols that an answer may have; then it ends.
        how: to search.
    """
    speaker: Stepwise = network if isinstance(network, Stepwise) else _Anew(network)
    lengths = None if batch.lengths is None else batch.lengths.repeat_interleave(how.beam)
    wide = Batch(batch.symbols.repeat_interleave(how.beam, dim=0), lengths)
    logits_RK, kept = speaker.next(speaker.begin(wide), None)
    beams = _Beams(len(batch.symbols), how, logits_RK)
    for step in range(room + 1):
        rows_R = beams.extend(logits_RK, last=step == room)
        if step == room or bool(beams.over_BW.all()):
            break
        kept = tuple(part[rows_R] for part in kept)
        logits_RK, kept = speaker.next(kept, beams.newest())
    return Searched(beams.said_BWQ[:, 0], beams.finite_B)


def searched(network: nn.Module, example: Example, room: int, outputs: int, how: Search) -> Tensor:
    """Return logits that say what is found, 1 at each symbol of it and then at END; (B, Q, K).

    There are as many as the longest right answer and its END have, or more; NaN where a logit on
    the way was not finite.
    """
    said_BQ, finite_B = search(network, example.batch, room, how)
    more = max(0, example.decoded.shape[1] + 1 - said_BQ.shape[1])
    said_BQ = nn.functional.pad(said_BQ, (0, more), value=outputs - 1)
    logits = torch.zeros((*said_BQ.shape, outputs), device=said_BQ.device)
    logits.scatter_(-1, said_BQ[..., None], 1.0)
    logits[~finite_B] = math.nan
    return logits


class _Beams:
    """The hypotheses of all strings, the best first."""

    def __init__(self, count: int, how: Search, like: Tensor) -> None:
        self._how, self._end = how, like.shape[-1] - 1
        shape = (count, how.beam)
        exact = torch.promote_types(like.dtype, torch.float32)
        # All begin as one: only the first counts.
        self.sums_BW = torch.full(shape, -math.inf, dtype=exact, device=like.device)
        self.sums_BW[:, 0] = 0.0
        self.over_BW = torch.zeros(shape, dtype=torch.bool, device=like.device)
        self.lengths_BW = torch.zeros(shape, dtype=torch.int64, device=like.device)
        self.said_BWQ = torch.zeros((*shape, 0), dtype=torch.int64, device=like.device)
        self.finite_B = torch.ones(count, dtype=torch.bool, device=like.device)

    def extend(self, logits_RK: Tensor, *, last: bool) -> Tensor:
        """Go on with the best; return which rows they came from, (R,)."""
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
        # Where a wide beam has more places than there are answers, some are of none.
        self.over_BW = (token_BW == self._end) | self.sums_BW.isneginf()
        before_BWQ = self.said_BWQ.gather(1, parent_BW[..., None].expand_as(self.said_BWQ))
        self.said_BWQ = torch.cat((before_BWQ, token_BW[..., None]), dim=-1)
        first_B1 = torch.arange(count, device=best_BW.device)[:, None] * beam
        return (first_B1 + parent_BW).flatten()

    def newest(self) -> Tensor:
        """Return the symbol that each row has said last, any if it has ended, (R,)."""
        return self.said_BWQ[..., -1].where(~self.over_BW, 0).flatten()


class _Anew:
    """A network that is called on all that has been said, each time."""

    def __init__(self, network: nn.Module) -> None:
        self._network = network

    def begin(self, batch: Batch) -> Kept:
        """Keep the strings, their lengths and what has been said."""
        nothing = batch.symbols.new_zeros((len(batch.symbols), 0))
        lengths = () if batch.lengths is None else (batch.lengths,)
        return (batch.symbols, nothing, *lengths)

    def next(self, kept: Kept, said_B: Tensor | None) -> tuple[Tensor, Kept]:
        """Say what may follow all that has been said."""
        symbols, said_BM, *lengths = kept
        if said_B is not None:
            said_BM = torch.cat((said_BM, said_B[:, None]), dim=1)
        logits = self._network(Batch(symbols, lengths[0] if lengths else None, said_BM))
        return logits[:, -1], (symbols, said_BM, *lengths)
