"""Stick-breaking attention: from near to far, each key takes a share of what is left.

Source: Tan et al., "Scaling stick-breaking attention: an efficient implementation and in-depth
study" (2024), §2 (eq. 1). With β_ij the sigmoid of the logit from query i to key j,

    A_ij = β_ij · product of (1 - β_ik) over j < k < i.

What no key before the query takes goes to the query's own position (the *remainder*), so that
weights add up to 1. There is no softmax, and order matters without positions.

Legend: B batch, H heads, Q queries, N keys.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def stick_breaking(logits_BHQN: Tensor, first: int) -> Tensor:
    """Return the weights, (B, H, Q, N).

    Args:
        logits_BHQN: those of a query itself and of what is behind it are not read.
        first: the position of the first query.
    """
    queries, keys = logits_BHQN.shape[-2:]
    exact = torch.promote_types(logits_BHQN.dtype, torch.float32)
    key_N = torch.arange(keys, device=logits_BHQN.device)
    query_Q1 = torch.arange(first, first + queries, device=logits_BHQN.device)[:, None]
    before_QN = key_N < query_Q1
    asked_BHQN = torch.where(before_QN, logits_BHQN.to(exact), 0.0)
    left_BHQN = torch.where(before_QN, functional.logsigmoid(-asked_BHQN), 0.0)
    # What the keys from each one on leave, and without that one itself.
    from_BHQN = left_BHQN.flip(-1).cumsum(-1).flip(-1)
    after_BHQN = functional.pad(from_BHQN[..., 1:], (0, 1))
    taken_BHQN = (functional.logsigmoid(asked_BHQN) + after_BHQN).exp()
    own_BHQN = (key_N == query_Q1).to(exact) * from_BHQN[..., :1].exp()
    return torch.where(before_QN, taken_BHQN, own_BHQN).to(logits_BHQN.dtype)
