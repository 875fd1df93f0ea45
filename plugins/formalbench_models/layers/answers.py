"""Which states a recurrent network answers from.

Legend: B batch, M = N + 1 prefixes of N symbols, the empty one first, W width.
"""

from __future__ import annotations

from formalbench import Batch
from torch import Tensor


def answering_states(states_BMW: Tensor, layout: str, batch: Batch) -> Tensor:
    """Return the states to answer from, of those after every prefix.

    Args:
        states_BMW: the state after every prefix.
        layout: where a network answers: ``last`` (B, W), ``each`` (B, N, W) or ``prefixes``.
        batch: says how long padded strings are.
    """
    if layout == "prefixes":
        return states_BMW
    if layout == "each":
        return states_BMW[:, 1:]
    if batch.lengths is None:
        return states_BMW[:, -1]
    index_B1W = batch.lengths[:, None, None].expand(-1, 1, states_BMW.shape[2])
    return states_BMW.gather(1, index_B1W).squeeze(1)
