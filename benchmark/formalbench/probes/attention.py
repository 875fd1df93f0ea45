"""Probes of attention, in the position that a string's one answer is read from.

Legend: B strings, H heads, M positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from formalbench.probes.reading import Series, Trace


def attention_on_first(trace: Trace) -> Series:
    """Return the weight of the string's first symbol, by head."""
    at_B = trace["first.position"]
    return {
        place: weights_BM.gather(1, at_B[:, None]).squeeze(1)
        for place, weights_BM in _answering(trace)
    }


def attention_entropy(trace: Trace) -> Series:
    """Return the entropy of the attention in bits, by head."""
    return {
        place: torch.special.entr(weights_BM).sum(1) / torch.log(weights_BM.new_tensor(2.0))
        for place, weights_BM in _answering(trace)
    }


def _answering(trace: Trace) -> Iterator[tuple[str, Tensor]]:
    """Find how the position that is answered from attends: each head's weights, (B, M)."""
    at_B = trace["answer.position"]
    suffix = ".attention"
    found = [name for name, t in trace.items() if name.endswith(suffix) and t.dim() == 4]
    if not found:
        raise KeyError("NAME.attention")
    rows_B = torch.arange(len(at_B), device=at_B.device)
    for name in found:
        for head, weights_BMM in enumerate(trace[name].unbind(1)):
            yield f"{name.removesuffix(suffix)}.head.{head}", weights_BMM[rows_B, at_B]
