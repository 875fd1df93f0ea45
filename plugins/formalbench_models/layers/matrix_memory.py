"""Linear attention and the delta rule, computed by chunks or by symbol.

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
with the delta rule, section 3.2), and what goes from chunk to chunk is the state (`pass_state`).
Where nothing is read all chunks are computed together, and their states only added up. Time and
memory are linear in the number of symbols.

`at_once` computes short strings that begin with an empty state, as attention does: by products of
symbols with symbols, without any state of K times V numbers.

Of a chunk's symbols is known what they ask and what they read of the state S that it begins with,
L; how much of what is written reaches what is asked and read later in the chunk, the scores A; and
what is left of it at the end, W. What is written is U: what is read, p, together with the values,
or below them if these are written elsewhere. With L and A cut into what is asked and what is read,

    answers = L_ask S + A_ask U,      S' = keep S + Wᵀ U,
    p = L_read S + A_read U (+ the values, if they are written together).

p is on both sides: it solves a triangular system.

All that concerns a chunk is done before the next one, for all strings of a batch: so its matrices
are still in the cache, where products over all chunks would read them from memory every time. The
library's own gradients would be such products, and it would add them up over all chunks and make
one for the inverse, too. Under `torch.func.vmap` the runs of a cohort are merged into the batch.

Decays may be 0 or negative, and nothing over- or underflows on the way (`decays.py`).

Legend: B batch, T symbols, H heads, X = B·H strings times heads, N chunks, C symbols of a chunk, K
rows and V columns of the state, R runs, O = 2 if values are written elsewhere, else 1, ... any
leading dimensions. Rows of decays may be 1: one decay for a head.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from formalbench_models.layers.decays import Parts, parts_of, sight
from formalbench_models.layers.tensors import cut, wide


def pass_state(state_XKV: Tensor, value: Tensor, parts: Parts) -> tuple[Tensor, Tensor]:
    """Return the answers, (X, N, C, V), and the state after the last chunk, (X, K, V).

    Args:
        state_XKV: the state before the first chunk.
        value: the values, (X, N, C, V).
        parts: L for M = 2 things, W for O, A and what is kept of the state.
    """
    answers, last_XKV, *_ = _ChunkedState.apply(  # type: ignore[no-untyped-call]
        state_XKV, value, *parts
    )
    return answers, last_XKV


class _ChunkedState(torch.autograd.Function):
    """`apply(state_XKV, value, *parts)`; also returns tensors for the backward pass.

    Without scores, W and the state are both counted from the chunk's beginning, and then kept.
    """

    @staticmethod
    def forward(
        state_XKV: Tensor,
        value: Tensor,
        asked: Tensor,
        written: Tensor,
        scores: Tensor | None,
        keep: Tensor | None,
    ) -> tuple[Tensor | None, ...]:
        strings, chunks, size, columns = value.shape
        many, found = written.shape[2], None
        separate, mask = many > size, sight(written, 2, many // size)
        # A chunk's place comes first: what a product writes is fast as one piece of memory only.
        if scores is None:
            found = scores = value.new_empty(chunks, strings, 2 * size, many).transpose(0, 1)
        answers = value.new_empty(chunks, strings, size, columns)
        contents = value.new_empty(chunks, strings, many, columns)
        inverses = value.new_empty(chunks, strings, size, size)
        states = value.new_empty(chunks + 1, *state_XKV.shape)
        states[0] = state_XKV
        eye = torch.eye(size, dtype=value.dtype, device=value.device)
        seen = value.new_empty(strings, 2 * size, columns)
        own, read = torch.empty_like(answers[0]), torch.empty_like(answers[0])
        for n, content in enumerate(contents):
            asked_n, written_n, score = asked[:, n], written[:, n], scores[:, n]
            state, given = states[n], value[:, n]
            if found is not None:
                torch.bmm(asked_n, written_n.mT, out=score).mul_(mask)
            inverses[n] = torch.linalg.solve_triangular(
                -score[:, size:, -size:], eye, upper=False, unitriangular=True
            )
            torch.bmm(asked_n, state, out=seen)
            if separate:
                torch.baddbmm(seen[:, size:], score[:, size:, :size], given, out=own)
                content[:, :size] = given
                content[:, size:] = torch.bmm(inverses[n], own, out=read)
            else:
                torch.add(seen[:, size:], given, out=own)
                torch.bmm(inverses[n], own, out=content)
            torch.baddbmm(seen[:, :size], score[:, :size], content, out=answers[n])
            if keep is not None and found is None:
                state = keep[:, n] * state
            after = torch.baddbmm(state, written_n.mT, content, out=states[n + 1])
            if keep is not None and found is not None:
                after *= keep[:, n]
        last_XKV = states[-1].clone()  # tensors for the backward pass have no gradient
        every = (answers, states, contents, inverses)
        answers, *saved = (part.transpose(0, 1) for part in every)
        return answers, last_XKV, *saved, found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        """Save inputs, the states before and after each chunk, U, the inverses and A."""
        saved = [part for part in output[2:] if part is not None]
        ctx.save_for_backward(*inputs[1:], *saved)
        ctx.mark_non_differentiable(*saved)
        ctx.set_materialize_grads(False)  # zeros for tensors without gradient

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, answers: Tensor | None, last_XKV: Tensor | None, *_: None
    ) -> tuple[Tensor | None, ...]:
        value, asked, written, scores, keep, states, contents, inverses, *found = ctx.saved_tensors
        size, many = value.shape[2], written.shape[2]
        separate, mask = many > size, sight(written, 2, many // size)
        if found:
            (scores,) = found
        answers = torch.zeros_like(value) if answers is None else answers
        d_state = torch.zeros_like(states[:, 0]) if last_XKV is None else last_XKV
        d_keep = None if keep is None else torch.empty_like(keep)
        # Gradients of (X, N, …) are allocated as (N, X, …).
        by_chunk = [x.new_empty(x.transpose(0, 1).shape) for x in (value, asked, written, scores)]
        d_value, d_asked, d_written, d_scores = by_chunk
        d_content, d_own = torch.empty_like(contents[:, 0]), torch.empty_like(d_value[0])
        d_seen = torch.cat((d_own, d_own), 1)
        for n in reversed(range(value.shape[1])):
            asked_n, written_n, score = asked[:, n], written[:, n], scores[:, n]
            state, content, inverse = states[:, n], contents[:, n], inverses[:, n]
            d_kept = d_added = d_state
            if keep is not None and d_keep is not None:
                d_kept = keep[:, n] * d_state
                if found:
                    d_added, after = d_kept, states[:, n + 1]
                    d_keep[:, n] = (d_state * after).sum_to_size(d_keep[:, n].shape) / keep[:, n]
                else:
                    d_keep[:, n] = (d_state * state).sum_to_size(d_keep[:, n].shape)
            torch.bmm(written_n, d_added, out=d_content)
            d_content.baddbmm_(score[:, :size].mT, answers[:, n])
            torch.bmm(inverse.mT, d_content[:, -size:], out=d_own)
            if separate:
                of_values = score[:, size:, :size].mT
                torch.baddbmm(d_content[:, :size], of_values, d_own, out=d_value[n])
            else:
                d_value[n] = d_own
            d_seen[:, :size], d_seen[:, size:] = answers[:, n], d_own
            torch.bmm(d_seen, content.mT, out=d_scores[n])
            torch.bmm(d_seen, state.mT, out=d_asked[n])
            torch.bmm(content, d_added.mT, out=d_written[n])
            if found:
                d_score = d_scores[n].mul_(mask)
                d_asked[n].baddbmm_(d_score, written_n)
                d_written[n].baddbmm_(d_score.mT, asked_n)
            d_state = torch.baddbmm(d_kept, asked_n.mT, d_seen)
        *of_parts, of_scores = (part.transpose(0, 1) for part in by_chunk)
        return d_state, *of_parts, None if found else of_scores, d_keep

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor | None
    ) -> tuple[tuple[Tensor | None, ...], tuple[int | None, ...]]:
        runs = info.batch_size
        pairs = zip(inputs, in_dims, strict=True)
        merged = [None if part is None else _merged(part, dim, runs) for part, dim in pairs]
        outputs = _ChunkedState.apply(*merged)  # type: ignore[no-untyped-call]
        parted = [None if part is None else part.unflatten(0, (runs, -1)) for part in outputs]
        return tuple(parted), tuple(None if part is None else 0 for part in parted)


def _merged(part: Tensor, dim: int | None, runs: int) -> Tensor:
    """Return (R·X, …) of a tensor that has the runs at `dim`, or that all share."""
    every = part[None] if dim is None else part.movedim(dim, 0)
    return every.expand(runs, *every.shape[1:]).flatten(0, 1)


_last_state: ContextVar[bool] = ContextVar("last_state", default=True)


@contextmanager
def without_last_state() -> Iterator[None]:
    """Let `remember` leave out the last state where that saves time: the string ends there."""
    before = _last_state.set(False)
    try:
        yield
    finally:
        _last_state.reset(before)


class Steps(NamedTuple):
    """Updates of the memory by T symbols, and queries after each; see the module.

    Attributes:
        query: q, (B, H, T, K).
        key: k, (B, H, T, K).
        value: v, (B, H, T, V).
        decay: d, (B, H, T, K) or (B, H, T, 1); None for no decay.
        write: a, (B, H, T, K), with `read`; None where that is k, which takes half the work.
        read: b, (B, H, T, K); None if nothing is read and written back.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    decay: Tensor | None = None
    write: Tensor | None = None
    read: Tensor | None = None


def remember(
    steps: Steps, state_BHKV: Tensor | None, chunk: int, *, least: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Run the memory over symbols, in at least fp32.

    Args:
        steps: updates and queries of the symbols.
        state_BHKV: state before the symbols; None for zero.
        chunk: C; 1 for symbol by symbol. Up to 2 C symbols are computed at once if no state comes
            before them.
        least: lower bound of decays if known, which saves computation (`decays.py`).

    Returns:
        The answers y, (B, H, T, V), in the values' dtype, and the state after the last symbol.
    """
    dtype = steps.value.dtype
    steps = Steps._make(None if part is None else wide(part) for part in steps)
    key_BHTK, value_BHTV = steps.key, steps.value
    length = key_BHTK.shape[2]
    if state_BHKV is None and (chunk == 1 or length > 2 * chunk):
        sizes = (*key_BHTK.shape[:2], key_BHTK.shape[3], value_BHTV.shape[3])
        state_BHKV = key_BHTK.new_zeros(sizes)
    # Autocast would compute the products in half precision.
    with torch.autocast(key_BHTK.device.type, enabled=False):
        chunk = min(chunk, length)
        if state_BHKV is None:
            answers_BHTV, state_BHKV = at_once(steps, least, last=_last_state.get())
        elif chunk > 1:
            answers_BHTV, state_BHKV = by_chunk(steps, state_BHKV, chunk, least)
        else:
            answers_BHTV, state_BHKV = by_symbol(steps, state_BHKV)
    return answers_BHTV.to(dtype), state_BHKV


def by_symbol(steps: Steps, state_BHKV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the answers and the last state, symbol by symbol (the definition)."""
    answers = []
    none = (None,) * steps.key.shape[2]
    # Unbound at once: backwards, each symbol picked out alone would fill a gradient for all.
    unbound = (none if part is None else part.unsqueeze(-1).unbind(2) for part in steps)
    for query, key, value, decay, write, read in zip(*unbound, strict=True):
        assert query is not None and key is not None and value is not None  # noqa: PT018
        change_BHKV = key @ value.mT
        if read is not None:
            write = key if write is None else write
            change_BHKV = change_BHKV + write @ (read.mT @ state_BHKV)
        decayed_BHKV = state_BHKV if decay is None else decay * state_BHKV
        state_BHKV = decayed_BHKV + change_BHKV
        answers.append((query.mT @ state_BHKV).squeeze(-2))
    return torch.stack(answers, dim=2), state_BHKV


def by_chunk(
    steps: Steps, state_BHKV: Tensor, chunk: int, least: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the same as `by_symbol`, a chunk at a time."""
    length, heads = steps.key.shape[2], steps.key.shape[:2]
    chunks = Steps._make(
        None if part is None else cut(part.flatten(0, 1), chunk, 1.0 if name == "decay" else 0.0)
        for name, part in steps._asdict().items()
    )
    laters, earliers = [chunks.query], [chunks.key]
    if chunks.read is not None:
        laters.append(chunks.read)
        earliers += [] if chunks.write is None else [chunks.write]
    parts = parts_of(chunks.decay, least, laters, earliers)
    states = _add_up if chunks.read is None else pass_state
    answers, state_XKV = states(state_BHKV.flatten(0, 1), chunks.value, parts)
    answers = torch.unflatten(answers.flatten(1, 2)[:, :length], 0, heads)
    return answers, torch.unflatten(state_XKV, 0, heads)


def at_once(steps: Steps, least: float = 0.0, *, last: bool = True) -> tuple[Tensor, Tensor]:
    """Return what `by_symbol` does from a state of zeros; without `last`, an empty last state."""
    heads, length = steps.key.shape[:2], steps.key.shape[2]
    query, key, value, decay, write, read = (
        None if part is None else part.flatten(0, 1) for part in steps
    )
    assert query is not None and key is not None and value is not None  # noqa: PT018
    laters = [query] if read is None else [query, read]
    earliers = [key] if write is None else [key, write]
    asked, written, scores, keep = parts_of(decay, least, laters, earliers)
    from_beginning = scores is None  # and so W, which else is what is left of it at the end
    if scores is None:
        scores = (asked @ written.mT) * sight(written, len(laters), len(earliers))
    if read is not None:  # p solves a triangular system; U is p, or the values and p
        scores, of_read = torch.split(scores, length, -2)
        own = value if write is None else of_read[..., :length] @ value
        solution = torch.linalg.solve_triangular(
            -of_read[..., -length:], own, upper=False, unitriangular=True
        )
        value = solution if write is None else torch.cat((value, solution), -2)
    answers_BHTV = torch.unflatten(scores @ value, 0, heads)
    if not last:
        return answers_BHTV, value.new_empty(0)
    state_XKV = written.mT @ value
    if keep is not None and from_beginning:
        state_XKV = keep * state_XKV
    return answers_BHTV, torch.unflatten(state_XKV, 0, heads)


def _add_up(state_XKV: Tensor, value: Tensor, parts: Parts) -> tuple[Tensor, Tensor]:
    """Return the answers and the last state, as `pass_state` does, where nothing is read."""
    asked, written, scores, keep = parts
    has_scores = scores is not None
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
        elif has_scores:
            state_XKV = torch.addcmul(add_XKV, keep_XK1, state_XKV)
        else:
            state_XKV = keep_XK1 * (state_XKV + add_XKV)
    return answers + asked @ torch.stack(states, 1), state_XKV
