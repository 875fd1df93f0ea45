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
with the delta rule, section 3.2). It is solved for all chunks together; what goes from chunk to
chunk is the state, by two thin products each. Time and memory are linear in the number of symbols.

Decays may be 0 or negative, and nothing over- or underflows on the way (`decays.py`).

Legend: B batch, T symbols, H heads, X = B·H, K rows, V columns, N chunks, C symbols of a chunk.
Rows of decays may be 1 (one decay for a head). ... any leading dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from formalbench_models.layers.decays import Decays, decays_of


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
        if write is not None and read is not None:
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
    alike = cut.key.new_ones(cut.key.shape[2], 1)
    decays = decays_of(alike if cut.decay is None else cut.decay, least)
    whole = _Chunks(cut, decays)
    states = _states if cut.write is None else _states_read
    answers, state_XKV = states(whole, state_BHKV.flatten(0, 1))
    answers = torch.unflatten(answers.flatten(1, 2)[:, :length], 0, heads)
    return answers, torch.unflatten(state_XKV, 0, heads)


class _Chunks(NamedTuple):
    """Symbols in chunks, and the products of their decays.

    Attributes:
        steps: what the symbols do; parts are (X, N, C, …).
        decays: of the rows.
    """

    steps: Steps
    decays: Decays

    def asks(self) -> Tensor:
        """Return what is asked of the state that a chunk begins with, (X, N, C, K)."""
        return self._decayed(self.steps.query, self.decays.since)

    def reads(self) -> Tensor:
        """Return what is read of it, (X, N, C, K): before the symbol's own decay."""
        assert self.steps.read is not None
        return self._decayed(self.steps.read, self.decays.before)

    def left(self, written_CK: Tensor) -> Tensor:
        """Return what is left at a chunk's end of what was written, (X, N, K, C)."""
        return self._decayed(written_CK, self.decays.until).mT

    def keeps(self) -> list[Tensor | None]:
        """Return how rows decay over each chunk, (X, K, 1), K being 1 for one decay."""
        chunks = self.steps.key.shape[1]
        if self.steps.decay is None:
            return [None] * chunks
        return list(self.decays.since[..., -1, :, None].unbind(1))

    def _decayed(self, part_CK: Tensor, factor: Tensor) -> Tensor:
        return part_CK if self.steps.decay is None else part_CK * factor


def _states(chunks: _Chunks, state_XKV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the answers, (X, N, C, V), and the last state where nothing is read and written."""
    steps, decays = chunks.steps, chunks.decays
    answers = decays.scores([steps.query], [steps.key]) @ steps.value
    added = chunks.left(steps.key) @ steps.value
    states = []
    # Unbound at once: going back, each chunk picked out alone would fill a gradient for all.
    for keep, add_XKV in zip(chunks.keeps(), added.unbind(1), strict=True):
        states.append(state_XKV)
        state_XKV = _kept(state_XKV, keep, add_XKV)
    return answers + chunks.asks() @ torch.stack(states, 1), state_XKV


def _states_read(chunks: _Chunks, state_XKV: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `_states` does, where p is read and written back."""
    steps, decays, size = chunks.steps, chunks.decays, chunks.steps.key.shape[2]
    assert steps.read is not None and steps.write is not None  # noqa: PT018
    scores = decays.scores([steps.query, steps.read], [steps.key, steps.write])
    answers, written = torch.split(scores[..., :size] @ steps.value, size, dim=-2)
    asked_CC, system_CC = torch.split(scores[..., size:], size, dim=-2)
    eye = torch.eye(size, dtype=scores.dtype, device=scores.device)
    solved_CC = torch.linalg.solve_triangular(-system_CC, eye, upper=False, unitriangular=True)
    parts = (
        chunks.left(steps.key) @ steps.value,
        chunks.left(steps.write),
        solved_CC @ chunks.reads(),
        solved_CC @ written,
    )
    states, found = [], []
    for keep, add_XKV, write_XKC, read_XCK, own_XCV in zip(
        chunks.keeps(), *(part.unbind(1) for part in parts), strict=True
    ):
        states.append(state_XKV)
        found.append(torch.baddbmm(own_XCV, read_XCK, state_XKV))
        state_XKV = torch.baddbmm(_kept(state_XKV, keep, add_XKV), write_XKC, found[-1])
    answers = answers + asked_CC @ torch.stack(found, 1)
    return answers + chunks.asks() @ torch.stack(states, 1), state_XKV


def _kept(state_XKV: Tensor, keep_XK1: Tensor | None, add_XKV: Tensor) -> Tensor:
    if keep_XK1 is None:
        return state_XKV + add_XKV
    return torch.addcmul(add_XKV, keep_XK1, state_XKV)


def _cut(part: Tensor, chunk: int, fill: float) -> Tensor:
    """Cut (X, T, …) into chunks, the last one filled up: (X, N, C, …)."""
    missing = -part.shape[1] % chunk
    if missing:
        part = functional.pad(part, (0, 0, 0, missing), value=fill)
    return torch.unflatten(part, 1, (-1, chunk))
