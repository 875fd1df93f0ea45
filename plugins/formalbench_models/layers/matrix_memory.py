"""Linear recurrences of a matrix: the memory that linear attention and its relatives keep.

A head's state S is a matrix of K rows and V columns, zero at first. A symbol changes it by

    S_t = Diag(d_t) S_{t-1} + a_t (b_tᵀ S_{t-1}) + k_t v_tᵀ,      y_t = S_tᵀ q_t:

every row decays, what stands at b_t is read and written at a_t, and v_t is written at k_t. Without
the middle term this is linear attention with gates (Katharopoulos et al. 2020; Yang et al. 2024,
Gated linear attention), with a_t = -β k_t and b_t = k_t the delta rule (Schlag et al. 2021).

`by_symbol` is that, symbol by symbol: the reference. `by_chunk` computes the C symbols of a chunk
at once. What is read inside one, p_t = S_{t-1}ᵀ b_t, is linear in the state that the chunk begins
with and in the p before it, so all of them are the solution of a triangular system (the WY form:
Bischof and Van Loan 1987; for the delta rule Yang et al. 2024, Parallelizing linear transformers
with the delta rule, section 3.2). Every chunk then is one affine map of the state, and only
these are composed one after the other. Time and memory are linear in the number of symbols.

Products of decays are made by multiplying, never as quotients or exponentials of sums: decays may
be 0 or negative, and nothing over- or underflows on the way (`decays.py`).

Legend: B batch, T symbols, H heads, K rows, V columns, N chunks, C symbols of a chunk. Rows of
decays may be 1 (one decay for a head). ... any leading dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from formalbench_models.layers.decays import Decays


class Steps(NamedTuple):
    """What T symbols do to the memory, and what is asked of it after each; see the module.

    Attributes:
        query: q, (B, H, T, K).
        key: k, (B, H, T, K).
        value: v, (B, H, T, V).
        decay: d, (B, H, T, K) or (B, H, T, 1); None for no decay.
        write: a, (B, H, T, K); None where nothing is read and written back.
        read: b, (B, H, T, K), with `write`.
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


def remember(steps: Steps, state_BHKV: Tensor | None, chunk: int) -> tuple[Tensor, Tensor]:
    """Run the memory over some symbols, in fp32 at least.

    Args:
        steps: what the symbols do.
        state_BHKV: what is remembered from before; None for nothing.
        chunk: C; 1 for symbol by symbol.

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
            answers_BHTV, state_BHKV = by_chunk(steps, state_BHKV, chunk)
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
        if write is not None and read is not None:
            change_BHKV = change_BHKV + write @ (read.mT @ state_BHKV)
        kept_BHKV = state_BHKV if decay is None else decay * state_BHKV
        state_BHKV = kept_BHKV + change_BHKV
        answers.append((query.mT @ state_BHKV).squeeze(-2))
    return torch.stack(answers, dim=2), state_BHKV


def by_chunk(steps: Steps, state_BHKV: Tensor, chunk: int) -> tuple[Tensor, Tensor]:
    """Return what `by_symbol` does, the symbols of a chunk at once."""
    length = steps.key.shape[2]
    cut = Steps._make(
        None if part is None else _cut(part, chunk, 1.0 if name == "decay" else 0.0)
        for name, part in steps._asdict().items()
    )
    inside = _inside(cut)
    states = []
    for index in range(inside.add.shape[2]):
        states.append(state_BHKV)
        kept_BHKV = inside.keep[:, :, index] * state_BHKV
        if inside.turn is not None:
            kept_BHKV = kept_BHKV + inside.turn[:, :, index] @ state_BHKV
        state_BHKV = kept_BHKV + inside.add[:, :, index]
    answers = inside.answers + inside.queries @ torch.stack(states, dim=2)
    return answers.flatten(2, 3)[:, :, :length], state_BHKV


class _Inside(NamedTuple):
    """The chunks as affine maps of the states they begin with.

    Attributes:
        keep: how the rows decay, (B, H, N, K, 1), K being 1 for one decay.
        turn: what else a chunk multiplies the state by, (B, H, N, K, K).
        add: what it adds to the state, (B, H, N, K, V).
        queries: what is asked of the state it begins with, (B, H, N, C, K).
        answers: what its own symbols add to the answers, (B, H, N, C, V).
    """

    keep: Tensor
    turn: Tensor | None
    add: Tensor
    queries: Tensor
    answers: Tensor


def _inside(cut: Steps) -> _Inside:
    """Work out the chunks; the parts of `cut` are (B, H, N, C, …)."""
    decay_CK = cut.decay
    if decay_CK is None:
        decay_CK = cut.key.new_ones(cut.key.shape[-2], 1)
    decays = Decays(decay_CK)
    queries_CK = decays.since * cut.query
    answers_CV = decays.scores(cut.query, cut.key) @ cut.value
    add_KV = (decays.until * cut.key).mT @ cut.value
    keep_K1 = decays.since[..., -1:, :].mT
    keep_K1 = keep_K1.expand(*add_KV.shape[:-2], *keep_K1.shape[-2:])
    if cut.write is None or cut.read is None:
        return _Inside(keep_K1, None, add_KV, queries_CK, answers_CV)
    # Reading comes before the symbol's own decay.
    reads_CK = functional.pad(decays.since[..., :-1, :], (0, 0, 1, 0), value=1.0) * cut.read
    system_CC = -decays.scores(cut.read, cut.write, before=True)
    written_CV = decays.scores(cut.read, cut.key, before=True) @ cut.value
    solved = torch.linalg.solve_triangular(
        system_CC, torch.cat((written_CV, reads_CK), -1), upper=False, unitriangular=True
    )
    own_CV, of_state_CK = torch.split(solved, [cut.value.shape[-1], cut.key.shape[-1]], dim=-1)
    writes_KC = (decays.until * cut.write).mT
    asked_CC = decays.scores(cut.query, cut.write)
    return _Inside(
        keep_K1,
        writes_KC @ of_state_CK,
        add_KV + writes_KC @ own_CV,
        queries_CK + asked_CC @ of_state_CK,
        answers_CV + asked_CC @ own_CV,
    )


def _cut(part: Tensor, chunk: int, fill: float) -> Tensor:
    """Cut (B, H, T, …) into chunks, the last one filled up: (B, H, N, C, …)."""
    missing = -part.shape[2] % chunk
    return torch.unflatten(functional.pad(part, (0, 0, 0, missing), value=fill), 2, (-1, chunk))
