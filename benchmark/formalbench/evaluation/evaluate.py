"""How a network does on a set of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy.typing as npt
import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.close_brackets import CloseBrackets
from formalbench.contracts.objective import Objective
from formalbench.evaluation.cells import Cell, CellSet
from formalbench.precision import forward_in, multiplying

MAX_SYMBOLS = 1 << 15
"""Symbols per batch: enough to keep a core busy, few enough for a small machine."""

MAX_PAIRS = 1 << 24
"""Pairs of positions per batch, which is what an attention matrix takes, per head."""


WHOLE = 16
"""Strings per batch are a multiple of so many where they can be. Of 65 a recurrent network of
width 256 takes 1.16 times as long per string as of 64 (measured): matrix products have an edge."""

Job = tuple[int, slice]
"""Some strings of a cell: its index, and which."""


class NotFiniteError(ArithmeticError):
    """A logit was not finite: an error, never a wrong answer."""


@dataclass(frozen=True)
class CellScore:
    """How a network did on one cell.

    Attributes:
        length: of the strings.
        strings: how many there were.
        correct: how many were right by the objective's primary metric.
        bits: mean cross-entropy per answer.
        close_brackets: counted, if the objective asks about them.
    """

    length: int
    strings: int
    correct: int
    bits: float
    close_brackets: CloseBrackets | None = None


class _Judged(NamedTuple):
    """How a network did on some strings: how many were right, and the sum of their bits."""

    correct: int
    bits: float
    close_brackets: CloseBrackets | None


def evaluate(
    network: nn.Module,
    objective: Objective,
    cells: CellSet,
    device: torch.device,
    threads: int = 1,
    precision: str = "fp32",
) -> list[CellScore]:
    """Score a network on every cell.

    Args:
        network: called on same-length batches; no length costs more than its own strings.
        objective: judges.
        cells: what to answer.
        device: where the network is.
        threads: batches at a time, each computed by one thread on a CPU, so that their number
            changes no result.
        precision: of the forward pass, as a protocol says it.

    Raises:
        NotFiniteError: if any logit is NaN or infinite.
    """
    jobs = [
        (index, rows)
        for index, cell in enumerate(cells.cells)
        for rows in batches(len(cell.strings), cell.length)
    ]

    def judge(job: Job) -> _Judged:
        index, rows = job
        with forward_in(precision, device):  # holds for one thread
            return _judge(network, objective, cells.cells[index], rows, device)

    network.eval()
    with multiplying(precision):
        if threads > 1 and device.type == "cpu":
            judged = _in_threads(threads, judge, jobs)
        else:
            judged = [judge(job) for job in jobs]
    network.train()
    by_cell: list[list[_Judged]] = [[] for _ in cells.cells]
    for (index, _), one in zip(jobs, judged, strict=True):
        by_cell[index].append(one)
    return [_score(cell, parts) for cell, parts in zip(cells.cells, by_cell, strict=True)]


def _score(cell: Cell, parts: Sequence[_Judged]) -> CellScore:
    strings = len(cell.strings)
    bits = 0.0
    for part in parts:
        bits += part.bits
    correct = sum(part.correct for part in parts)
    return CellScore(cell.length, strings, correct, bits / strings, _counted(parts))


def total(scores: Sequence[CellScore], window: tuple[int, int] | None) -> CellScore:
    """Return the score on all cells, the longest one's length in it.

    Bits are averaged over the cells or, over what a process generated within a window, over
    the tokens, END included.
    """
    tokens = [score.strings * (score.length + 1) for score in scores]
    shares = [1] * len(scores) if window is None else tokens
    bits = sum(share * score.bits for share, score in zip(shares, scores, strict=True))
    return CellScore(
        window[1] if window else scores[-1].length,
        sum(score.strings for score in scores),
        sum(score.correct for score in scores),
        bits / sum(shares),
        _counted(scores),
    )


def _counted(parts: Sequence[_Judged] | Sequence[CellScore]) -> CloseBrackets | None:
    counts = [part.close_brackets for part in parts if part.close_brackets is not None]
    return reduce(add, counts) if counts else None


def _in_threads(
    threads: int, judge: Callable[[Job], _Judged], jobs: Sequence[Job]
) -> list[_Judged]:
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            return list(pool.map(judge, jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@torch.no_grad()
def _judge(
    network: nn.Module, objective: Objective, cell: Cell, rows: slice, device: torch.device
) -> _Judged:
    """Return how a network does on some strings of a cell."""
    batch = Batch(_on(cell.strings[rows], device))
    logits = network(batch)
    logits = logits.float() if logits.dtype == torch.bfloat16 else logits
    if not bool(torch.isfinite(logits).all()):
        raise NotFiniteError(f"a logit at length {cell.length} is not finite")
    targets = _on(cell.targets[rows], device)
    right, row_bits = objective.score(logits, targets)
    correct, bits = int(right.sum()), float(row_bits.double().sum())
    if not math.isfinite(bits):
        raise NotFiniteError(f"the cross-entropy at length {cell.length} is not finite")
    return _Judged(correct, bits, objective.close_brackets(logits, targets))


def _on(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Return an array on a device, integers in 64 bits."""
    tensor = torch.from_numpy(array).to(device)
    return tensor.long() if array.dtype.kind in "iu" else tensor


def batches(count: int, length: int) -> Iterator[slice]:
    """Cut `count` strings of one length into batches that fit."""
    size = min(MAX_SYMBOLS // max(length, 1), MAX_PAIRS // max(length, 1) ** 2)
    size = size - size % WHOLE if size > WHOLE else max(size, 1)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
