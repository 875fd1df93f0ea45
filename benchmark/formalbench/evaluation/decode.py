"""Answers said step by step, by networks whose layout is ``decoded``.

Legend: B strings, M answers at most, K outputs, the last of which is END.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.example import Example
from formalbench.metrics.accuracy import predicted_class


def decode(network: nn.Module, batch: Batch, steps: int) -> tuple[Tensor, Tensor]:
    """Return what a network says of itself, the likeliest answer each time.

    Returns:
        (B, steps) answers, zeros where it has ended; and (B, steps+1), where it has ended before.
    """
    count, device = len(batch.symbols), batch.symbols.device
    said_BM = batch.symbols.new_zeros((count, steps))
    over_BM = torch.zeros((count, steps + 1), dtype=torch.bool, device=device)
    for step in range(steps):
        logits_BK = network(Batch(batch.symbols, batch.lengths, said_BM[:, :step]))[:, step]
        # Of what is not finite the class is K, no answer: that ends, too.
        next_B = predicted_class(logits_BK)
        over_B = over_BM[:, step] | (next_B >= logits_BK.shape[1] - 1)
        said_BM[:, step] = torch.where(over_B, 0, next_B)
        over_BM[:, step + 1 :] |= over_B[:, None]
        if bool(over_B.all()):
            break
    return said_BM, over_BM


def answered_freely(network: nn.Module, example: Example) -> Tensor:
    """Return the logits of a network given its own answers so far, (B, M+1, K).

    As many steps are taken as the longest right answer has: one that goes on is wrong already
    where it should have ended. One that has ended goes on saying END.
    """
    said_BM, over_BM = decode(network, example.batch, example.decoded.shape[1])
    logits: Tensor = network(example.batch._replace(decoded=said_BM))
    end_K = torch.zeros_like(logits[0, 0])
    end_K[-1] = 1.0
    return torch.where(over_BM.unsqueeze(-1), end_K, logits)
