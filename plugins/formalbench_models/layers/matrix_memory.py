"""Linear recurrences of a matrix: the memory that linear attention and its relatives keep.

A head's state S is a matrix of K rows and V columns, zero at first. A symbol changes it by

    S_t = Diag(d_t) S_{t-1} + a_t (b_tᵀ S_{t-1}) + k_t v_tᵀ,      y_t = S_tᵀ q_t:

every row decays, what stands at b_t is read and written at a_t, and v_t is written at k_t. Without
the middle term this is linear attention with gates (Katharopoulos et al. 2020; Yang et al. 2024,
Gated linear attention). With k_t = β u_t, a_t = k_t and b_t = -u_t it is the delta rule (Schlag et
al. 2021): what is read and the value are then written in the same place, as one.

`by_symbol` is that, symbol by symbol: the reference. `by_chunk` computes the C symbols of a chunk
at once. What is read inside one, p_t = S_{t-1}ᵀ b_t, is linear in the state that the chunk begins
with and in the p before it, so all of them are the solution of a triangular system (the WY form:
Bischof and Van Loan 1987; for the delta rule Yang et al. 2024, Parallelizing linear transformers
with the delta rule, section 3.2), and what goes from chunk to chunk is the state (`passage.py`).
Where nothing is read all chunks are computed together, and their states only added up. Time and
memory are linear in the number of symbols.

Decays may be 0 or negative, and nothing over- or underflows on the way (`decays.py`).

Legend: B batch, T symbols, H heads, X = B·H, K rows, V columns, N chunks, C symbols of a chunk.
Rows of decays may be 1 (one decay for a head). ... any leading dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from formalbench_models.layers.decays import Parts, parts_of, sight
from formalbench_models.layers.passage import pass_state


class Steps(NamedTuple):
    """What T symbols do to the memory, and what is asked of it after each; see the module.

    Attributes:
        query: q, (B, H, T, K).
        key: k, (B, H, T, K).
        value: v, (B, H, T, V).
        decay: d, (B, H, T, K) or (B, H, T, 1); None for no decay.
        write: a, (B, H, T, K), with `read`; None where that is k, which takes half the work.
        read: b, (B, H, T, K); None where nothing is read and written back.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    decay: Tensor | None = None
    write: Tensor | None = None
    read: Tensor | None = None


def wide(x: Tensor) -> Tensor:
    """Return a tensor in fp32 at least: gates near 1 are not told from 1 in half precision."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def remember(
    steps: Steps, state_BHKV: Tensor | None, chunk: int, *, least: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Run the memory over some symbols, in fp32 at least.

    Args:
        steps: what the symbols do.
        state_BHKV: what is remembered from before; None for nothing.
        chunk: C; 1 for symbol by symbol.
        least: what no decay is below, if that is known: then less is computed (`decays.py`).

    Returns:
        The answers y, (B, H, T, V), in the values' dtype, and the state after the last symbol.
    """
    dtype = steps.value.dtype
    steps = Steps._make(None if part is None else wide(part) for part in steps)
    key_BHTK, value_BHTV = steps.key, steps.value
    if state_BHKV is None:
        sizes = (*key_BHTK.shape[:2], key_BHTK.shape[3], value_BHTV.shape[3])
        state_BHKV = key_BHTK.new_zeros(sizes)
    # Autocast would take the products back to half precision.
    with torch.autocast(key_BHTK.device.type, enabled=False):
        chunk = min(chunk, key_BHTK.shape[2])
        if chunk > 1:
            answers_BHTV, state_BHKV = by_chunk(steps, state_BHKV, chunk, least)
        else:
            answers_BHTV, state_BHKV = by_symbol(steps, state_BHKV)
    return answers_BHTV.to(dtype), state_BHKV


def by_symbol(steps: Steps, state_BHKV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the answers and the last state, one symbol after the other: the definition."""
    answers = []
    for time in range(steps.key.shape[2]):
        query, key, value, decay, write, read = (
            None if part is None else part[:, :, time, :, None] for part in steps
        )
        assert query is not None and key is not None and value is not None  # noqa: PT018
        change_BHKV = key @ value.mT
        if read is not None:
            write = key if write is None else write
            change_BHKV = change_BHKV + write @ (read.mT @ state_BHKV)
        kept_BHKV = state_BHKV if decay is None else decay * state_BHKV
        state_BHKV = kept_BHKV + change_BHKV
        answers.append((query.mT @ state_BHKV).squeeze(-2))
    return torch.stack(answers, dim=2), state_BHKV


def by_chunk(
    steps: Steps, state_BHKV: Tensor, chunk: int, least: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return what `by_symbol` does, the symbols of a chunk at once."""
    length, heads = steps.key.shape[2], steps.key.shape[:2]
    cut = Steps._make(
        None if part is None else _cut(part.flatten(0, 1), chunk, 1.0 if name == "decay" else 0.0)
        for name, part in steps._asdict().items()
    )
    laters, earliers = [cut.query], [cut.key]
    if cut.read is not None:
        laters.append(cut.read)
        earliers += [] if cut.write is None else [cut.write]
    parts = parts_of(cut.decay, least, laters, earliers)
    states = _add_up if cut.read is None else pass_state
    answers, state_XKV = states(state_BHKV.flatten(0, 1), cut.value, parts)
    answers = torch.unflatten(answers.flatten(1, 2)[:, :length], 0, heads)
    return answers, torch.unflatten(state_XKV, 0, heads)


def _add_up(state_XKV: Tensor, value: Tensor, parts: Parts) -> tuple[Tensor, Tensor]:
    """Return the answers and the last state, as `pass_state` does, where nothing is read."""
    asked, written, scores, keep = parts
    given = scores is not None
    if scores is None:
        scores = (asked @ written.mT) * sight(written, 1, 1)
    answers, added = scores @ value, written.mT @ value
    keeps = [None] * value.shape[1] if keep is None else keep.unbind(1)
    states = []
    # Unbound at once: going back, each chunk picked out alone would fill a gradient for all.
    for keep_XK1, add_XKV in zip(keeps, added.unbind(1), strict=True):
        states.append(state_XKV)
        if keep_XK1 is None:
            state_XKV = state_XKV + add_XKV
        elif given:
            state_XKV = torch.addcmul(add_XKV, keep_XK1, state_XKV)
        else:
            state_XKV = keep_XK1 * (state_XKV + add_XKV)
    return answers + asked @ torch.stack(states, 1), state_XKV


def _cut(part: Tensor, chunk: int, fill: float) -> Tensor:
    """Cut (X, T, …) into chunks, the last one filled up: (X, N, C, …)."""
    missing = -part.shape[1] % chunk
    if missing:
        part = functional.pad(part, (0, 0, 0, missing), value=fill)
    return torch.unflatten(part, 1, (-1, chunk))
