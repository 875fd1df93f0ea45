"""How a network does on a set of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.objective import Objective
from formalbench.evaluation.cells import Cell, CellSet
from formalbench.precision import forward_in, multiplying

MAX_SYMBOLS = 1 << 15
"""Symbols per batch: enough to keep a core busy, few enough for a small machine."""

MAX_PAIRS = 1 << 24
"""Pairs of positions per batch, which is what an attention matrix takes, per head."""


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
    """

    length: int
    strings: int
    correct: int
    bits: float


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

    def judge(job: Job) -> tuple[int, float]:
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
    correct, bits = [0] * len(cells.cells), [0.0] * len(cells.cells)
    for (index, _), (right, row_bits) in zip(jobs, judged, strict=True):
        correct[index] += right
        bits[index] += row_bits
    return [
        CellScore(cell.length, len(cell.strings), right, total / len(cell.strings))
        for cell, right, total in zip(cells.cells, correct, bits, strict=True)
    ]


def _in_threads(
    threads: int, judge: Callable[[Job], tuple[int, float]], jobs: Sequence[Job]
) -> list[tuple[int, float]]:
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            return list(pool.map(judge, jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@torch.no_grad()
def _judge(
    network: nn.Module, objective: Objective, cell: Cell, rows: slice, device: torch.device
) -> tuple[int, float]:
    """Return how many of some strings are right, and their bits."""
    batch = Batch(_on(cell.strings[rows], device))
    logits = network(batch)
    logits = logits.float() if logits.dtype == torch.bfloat16 else logits
    if not bool(torch.isfinite(logits).all()):
        raise NotFiniteError(f"a logit at length {cell.length} is not finite")
    right, row_bits = objective.score(logits, _on(cell.targets[rows], device))
    correct, bits = int(right.sum()), float(row_bits.double().sum())
    if not math.isfinite(bits):
        raise NotFiniteError(f"the cross-entropy at length {cell.length} is not finite")
    return correct, bits


def _on(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Return an array on a device, integers in 64 bits."""
    tensor = torch.from_numpy(array).to(device)
    return tensor.long() if array.dtype.kind in "iu" else tensor


def batches(count: int, length: int) -> Iterator[slice]:
    """Cut `count` strings of one length into batches that fit."""
    size = min(MAX_SYMBOLS // max(length, 1), MAX_PAIRS // max(length, 1) ** 2)
    size = max(size, 1)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
