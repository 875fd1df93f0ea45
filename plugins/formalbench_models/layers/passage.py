"""The state of a memory that is read and written back, from chunk to chunk, and its gradient.

Of a chunk's symbols is known what they ask and what they read of the state S that it begins with,
L; how much of what is written reaches what is asked and read later in the chunk, the scores A; and
what is left of it at the end, W. What is written is U: what is read, p, together with the values,
or below them if these are written elsewhere. With L and A cut into what is asked and what is read,

    answers = L_ask S + A_ask U,      S' = keep S + Wᵀ U,
    p = L_read S + A_read U (+ the values, if they are written together).

p is on both sides: it solves a triangular system.

All that concerns a chunk is done before the next one, for all strings of a batch: so its matrices
are still in the cache, where products over all chunks would read them from memory every time.
The library's own gradients would be such products, and it would add them up over all chunks and
make one for the inverse, too. Under `torch.func.vmap` the runs of a cohort are merged into the
batch. `by_symbol` in `matrix_memory.py` is the reference.

Legend: X strings (times heads), N chunks, C symbols of a chunk, K rows and V columns of the state,
O = 2 if values are written elsewhere, else 1; R runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from formalbench_models.layers.decays import Parts, sight


def pass_state(state_XKV: Tensor, value: Tensor, parts: Parts) -> tuple[Tensor, Tensor]:
    """Return the answers, (X, N, C, V), and the state after the last chunk, (X, K, V).

    Args:
        state_XKV: the state before the first chunk.
        value: the values, (X, N, C, V).
        parts: L for M = 2 things, W for O, A and what is kept of the state.
    """
    answers, last_XKV, *_ = _Passage.apply(  # type: ignore[no-untyped-call]
        state_XKV, value, *parts
    )
    return answers, last_XKV


class _Passage(torch.autograd.Function):
    """`apply(state_XKV, value, *parts)`; it returns what the way back needs, too.

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
        """Go from chunk to chunk."""
        strings, chunks, size, columns = value.shape
        many, found = written.shape[2], None
        apart, mask = many > size, sight(written, 2, many // size)
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
            if apart:
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
        last_XKV = states[-1].clone()  # what the way back needs has no gradient
        every = (answers, states, contents, inverses)
        answers, *kept = (part.transpose(0, 1) for part in every)
        return answers, last_XKV, *kept, found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        """Keep what goes in, the states before and after each chunk, U, the inverses, A."""
        kept = [part for part in output[2:] if part is not None]
        ctx.save_for_backward(*inputs[1:], *kept)
        ctx.mark_non_differentiable(*kept)
        ctx.set_materialize_grads(False)  # zeros for what has no gradient, as large as it is

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, answers: Tensor | None, last_XKV: Tensor | None, *_: None
    ) -> tuple[Tensor | None, ...]:
        """Go back, chunk by chunk."""
        value, asked, written, scores, keep, states, contents, inverses, *found = ctx.saved_tensors
        size, many = value.shape[2], written.shape[2]
        apart, mask = many > size, sight(written, 2, many // size)
        if found:
            (scores,) = found
        answers = torch.zeros_like(value) if answers is None else answers
        d_state = torch.zeros_like(states[:, 0]) if last_XKV is None else last_XKV
        d_keep = None if keep is None else torch.empty_like(keep)
        by_chunk = [_chunks_first(part) for part in (value, asked, written, scores)]
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
            if apart:
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
        """Merge the runs into the batch."""
        runs = info.batch_size
        pairs = zip(inputs, in_dims, strict=True)
        merged = [None if part is None else _merged(part, dim, runs) for part, dim in pairs]
        outputs = _Passage.apply(*merged)  # type: ignore[no-untyped-call]
        parted = [None if part is None else part.unflatten(0, (runs, -1)) for part in outputs]
        return tuple(parted), tuple(None if part is None else 0 for part in parted)


def _chunks_first(part: Tensor) -> Tensor:
    """Return room for the gradient of (X, N, …), (N, X, …)."""
    strings, chunks, *rest = part.shape
    return part.new_empty(chunks, strings, *rest)


def _merged(part: Tensor, dim: int | None, runs: int) -> Tensor:
    """Return (R·X, …) of a tensor that has the runs at `dim`, or that all share."""
    every = part[None] if dim is None else part.movedim(dim, 0)
    return every.expand(runs, *every.shape[1:]).flatten(0, 1)
