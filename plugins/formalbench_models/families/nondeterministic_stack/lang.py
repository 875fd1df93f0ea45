"""All runs of a weighted pushdown automaton at once, by Lang's algorithm.

Sources: Lang (1974), "Deterministic techniques for efficient non-deterministic parsers"; in the
form of DuSell & Chiang, "Learning hierarchical structures with differentiable nondeterministic
stacks" (2022), and their code.

A configuration is a state q with the symbol x on top; at every step the automaton pushes, replaces
or pops. γ[i → t][q, x → r, y] is the weight of all runs from (q, x) at time i to (r, y) at time t
which have at t a single symbol more on their stack than at i, and never had less in between:

    γ[i → t][q x, r y] =  push[q x, r y]                                              (i = t - 1)
                        + Σ_{s z}   γ[i → t-1][q x, s z] replace[s z, r y]
                        + Σ_{k u}   γ[i → k][q x, u y] Σ_{s z} γ[k → t-1][u y, s z] pop[s z, r]
    α[t][r y]          =  Σ_{i q x} α[i][q x] γ[i → t][q x, r y].

The reading is α[t], divided by its sum. Weights of runs leave the range of floating point soon, so
the authors compute with logarithms; here they are kept as shares, and products are products of
matrices. A factor common to all operations of a step changes no reading, so α is made to sum to 1
at each step, and in the place of γ are held

    joint[i → t][q x, r y]  = α[i][q x] γ[i → t][q x, r y],       the share of all runs up to t,
    origin[i ← k][q x, u y] = joint[i → k][q x, u y] / α[k][u y],  where a run at (u, y) came from,

all between 0 and 1. The last sum then is Σ origin[i ← k] Σ joint[k → t-1] pop.

Step t costs Q³ S² t² multiplications a string, a string of n symbols Q³ S² n³ / 3.

Legend: B batch; Q states, S symbols, P = Q S configurations; I times that runs come from, K those
that they come back to.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

FLOOR = 60.0
"""Logits so far below the greatest of a step count as this far below it."""

TINY = 1e-30
"""Shares below it count as none."""


class Operations(NamedTuple):
    """Logarithms of the weights of a step's operations.

    Attributes:
        push: (B, P, P), from a configuration to another.
        replace: likewise.
        pop: (B, P, Q), to a state; what is on top then was there before.
    """

    push: Tensor
    replace: Tensor
    pop: Tensor

    def shares(self) -> Operations:
        """Return the weights themselves, divided by the greatest of each string."""
        together = torch.cat(self, -1)
        most = together.detach().amax((-2, -1), keepdim=True)
        found = (together - most).clamp(min=-FLOOR).exp()
        return Operations(*torch.split(found, [part.shape[-1] for part in self], -1))


class PdaRuns(NamedTuple):
    """All runs up to a time t.

    Attributes:
        alpha: the share of the runs in each configuration, (B, P).
        joint: the share of those that come from each earlier one, (B, I, P, P), I = t + 1.
        origin: of the configurations at the times 0 … t - 1, by top symbol, (B, S, I P, K Q).
    """

    alpha: Tensor
    joint: Tensor
    origin: Tensor


def begin(like: Tensor, states: int, symbols: int) -> PdaRuns:
    """Return the one run at time 0: state 0 with the bottom symbol 0.

    Args:
        like: (B, …), gives the number of strings, type and device.
        states: Q.
        symbols: S.
    """
    batch, size = like.shape[0], states * symbols
    first = functional.one_hot(torch.zeros(batch, dtype=torch.long, device=like.device), size)
    alpha_BP = first.to(like.dtype)
    joint = (alpha_BP[:, :, None] * alpha_BP[:, None, :]).unsqueeze(1)
    return PdaRuns(alpha_BP, joint, like.new_zeros(batch, symbols, 0, 0))


def go_on(runs: PdaRuns, weights: Operations) -> PdaRuns:
    """Return the runs after one more step."""
    alpha_BP, joint, origin = runs
    push, replace, pop = weights.shares()
    states = pop.shape[-1]
    pushed = alpha_BP[:, None, :, None] * push.unsqueeze(1)
    kept = joint @ replace.unsqueeze(1)
    if joint.shape[1] > 1:
        kept = kept + _popped(joint, origin, pop)
    found = torch.cat((kept, pushed), 1)
    joint_next = found / found.sum((1, 2, 3), keepdim=True)
    return PdaRuns(joint_next.sum((1, 2)), joint_next, _origins(alpha_BP, joint, origin, states))


def _popped(joint: Tensor, origin: Tensor, pop: Tensor) -> Tensor:
    """Return the runs that end by a pop, (B, I, P, P)."""
    times, size, states = joint.shape[1], *pop.shape[-2:]
    symbols = size // states
    # What was pushed onto (u, y) at time k is popped, into state r: (B, S, K Q, Q).
    back = torch.unflatten(joint[:, 1:] @ pop.unsqueeze(1), 2, (states, symbols))
    back = back.permute(0, 3, 1, 2, 4).flatten(2, 3)
    ended = torch.unflatten(origin @ back, 2, (times - 1, size))
    ended = ended.permute(0, 2, 3, 4, 1).flatten(3)
    return functional.pad(ended, (0, 0, 0, 0, 0, 1))


def _origins(alpha_BP: Tensor, joint: Tensor, origin: Tensor, states: int) -> Tensor:
    """Return where runs came from, with those at time t behind the earlier ones."""
    there = alpha_BP > TINY
    share = joint / torch.where(there, alpha_BP, 1)[:, None, None]
    share = torch.where(there[:, None, None], share, 0)
    times, size = joint.shape[1:3]
    apart = torch.unflatten(share, -1, (states, size // states))
    column = apart.permute(0, 4, 1, 2, 3).flatten(2, 3)
    rows = times * size - origin.shape[2]
    return torch.cat((functional.pad(origin, (0, 0, 0, rows)), column), -1)
