"""SLiCE's mixer, written from the equations, a matrix and a symbol after the other.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width, S size of the state.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.slice.model import SliceMixer


def naive(mixer: SliceMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    blocks, size = mixer.start.shape
    state = list(mixer.start)
    changes = []
    for x in x_TW:
        entries = mixer.choose.weight @ x + mixer.choose.bias
        for index in range(blocks):
            if mixer.rank:
                change = torch.diag(entries[:size])
                many = size * mixer.rank
                for rank in range(mixer.rank):
                    left = entries[size + rank : size + many : mixer.rank]
                    right = entries[size + many + rank :: mixer.rank]
                    change = change + torch.outer(left, right) / 40
            else:
                begin = index * size * size
                change = entries[begin : begin + size * size].reshape(size, size)
            matrix = torch.eye(size, dtype=x.dtype) + change / 40
            state[index] = matrix @ state[index]
        parts = state if mixer.by_block else [torch.cat(state)]
        read = torch.cat([part / part.square().mean().sqrt() for part in parts])
        if mixer.merge is not None:
            read = torch.tanh(mixer.merge.weight @ read + mixer.merge.bias)
        changes.append(read)
    return torch.stack(changes)
