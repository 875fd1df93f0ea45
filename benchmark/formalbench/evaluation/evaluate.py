"""Score a network on a test set.

Legend: B strings, M maximum number of answers, K outputs, the last one is END.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from formalbench.contracts.network import Batch, Example, Traits, split, tensors, traits_of
from formalbench.contracts.objective import Measure, Metric, State, add_up, merged
from formalbench.contracts.task import Task, expected_shape
from formalbench.device import forward_in, multiplying
from formalbench.evaluation.beam_search import Search, searched
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.metrics.answers import predicted_class


def decode(network: nn.Module, batch: Batch, steps: int) -> tuple[Tensor, Tensor]:
    """Decode greedily: return a network's most likely answer at each step.

    Returns:
        Answers (B, steps), zero after the end; and a mask (B, steps+1), True after the end.
    """
    count, device = len(batch.symbols), batch.symbols.device
    answers_BM = batch.symbols.new_zeros((count, steps))
    ended_BM = torch.zeros((count, steps + 1), dtype=torch.bool, device=device)
    for step in range(steps):
        logits_BK = network(Batch(batch.symbols, batch.lengths, answers_BM[:, :step]))[:, step]
        # Logits that are not finite give the class K, no answer, which also ends the string.
        next_B = predicted_class(logits_BK)
        ended_B = ended_BM[:, step] | (next_B >= logits_BK.shape[1] - 1)
        answers_BM[:, step] = torch.where(ended_B, 0, next_B)
        ended_BM[:, step + 1 :] |= ended_B[:, None]
        if bool(ended_B.all()):
            break
    return answers_BM, ended_BM


def answered_freely(network: nn.Module, example: Example) -> Tensor:
    """Return the logits of a network given its own answers so far, (B, M+1, K).

    The number of steps is the length of the longest correct answer, since a longer answer is wrong
    at the place where it should have ended. After its end, an answer is filled with END.
    """
    answers_BM, ended_BM = decode(network, example.batch, example.decoded.shape[1])
    logits: Tensor = network(example.batch._replace(decoded=answers_BM))
    end_K = torch.zeros_like(logits[0, 0])
    end_K[-1] = 1.0
    return torch.where(ended_BM.unsqueeze(-1), end_K, logits)


MAX_SYMBOLS = 1 << 15
"""Symbols per batch: enough to keep a core busy, few enough for a small machine."""


MAX_PAIRS = 1 << 24
"""Pairs of positions per batch: the size of an attention matrix, per head."""


MAX_LOGITS = 1 << 27
"""Logits per batch, 512 MiB in fp32: one string of 8,192 tokens exceeds it with 16,384 outputs."""


WHOLE = 16
"""Batch sizes are a multiple of this number where possible. With 65 strings, a recurrent network of
width 256 takes 1.16 times as long per string as with 64 (measured)."""


class NotFiniteError(ArithmeticError):
    """A logit was not finite; this is an error, not a wrong answer."""


@dataclass(frozen=True)
class CellScore:
    """The score of a network on one cell.

    Attributes:
        first, last: the smallest and the largest length of the strings.
        strings: the number of strings.
        measures: measures of the task's metrics, the primary one first.
        group: the name of the cell's part of the test.
        finite: whether every logit was finite; if not, the measures are those of a network that
            gives every answer the same logits, and only their counts are meaningful.
        states: accumulated states of plugin metrics that are not means, for `pooled`.
    """

    first: int
    last: int
    strings: int
    measures: dict[str, Measure]
    group: str = ""
    finite: bool = True
    states: Mapping[str, State] = field(default_factory=dict)


class _Job(NamedTuple):
    """The index of a cell, and some of its strings."""

    cell: int
    example: Example


def evaluate(
    network: nn.Module,
    task: Task,
    test_set: TestSet,
    device: torch.device,
    threads: int = 1,
    precision: str = "fp32",
    alive: Callable[[], None] = lambda: None,
    how: Search | None = None,
    *,
    by_cell: bool = False,
) -> list[CellScore]:
    """Score a network on every cell.

    Args:
        network: called on batches of strings with one length or, if its traits allow it, padded
            batches.
        task: defines the metrics.
        test_set: the strings.
        device: the device of the network.
        threads: parallel batches, each computed by one CPU thread, so that their number changes no
            result.
        precision: of the forward pass, one of a protocol's values.
        alive: called from time to time, to report progress.
        how: the search for answers of several symbols; None to choose the most likely symbol at
            each step.
        by_cell: whether to mark a cell with a logit that is NaN or infinite (`CellScore.finite`)
            and score the other cells, instead of raising an error.

    Raises:
        NotFiniteError: if any logit is NaN or infinite, unless `by_cell`.
    """
    jobs = [
        _Job(index, example)
        for index, cell in enumerate(test_set.cells)
        for example in _batches(network, task, cell, how.beam if how else 1)
    ]

    def judge(job: _Job) -> list[State]:
        alive()
        try:
            with forward_in(precision, device):  # applies to this thread only
                return _judge(network, task, test_set.cells[job.cell], job.example, device, how)
        except NotFiniteError:
            if not by_cell:
                raise
            return []

    network.eval()
    with multiplying(precision):
        if threads > 1 and device.type == "cpu":
            by_job = _in_threads(threads, judge, jobs)
        else:
            by_job = [judge(job) for job in jobs]
    network.train()
    states_of: list[list[list[State]]] = [[] for _ in test_set.cells]
    infinite = {job.cell for job, states in zip(jobs, by_job, strict=True) if not states}
    for job, states in zip(jobs, by_job, strict=True):
        if job.cell in infinite:
            cell = test_set.cells[job.cell]
            states = _judge(blank(task), task, cell, job.example, device, how)
        states_of[job.cell].append(states)
    return [
        _score(task, cell, states, finite=index not in infinite)
        for index, (cell, states) in enumerate(zip(test_set.cells, states_of, strict=True))
    ]


def blank(task: Task) -> nn.Module:
    """Return a network that gives every answer of a task the same logits."""

    class Blank(nn.Module):
        traits = Traits(encoder_decoder=task.layout == "decoded")

        def forward(self, batch: Batch) -> Tensor:
            return torch.zeros(expected_shape(task, batch), device=batch.symbols.device)

    return Blank()


def total(scores: Sequence[CellScore]) -> CellScore:
    """Return the score over all cells, with equal weight per answer."""
    return CellScore(
        min(score.first for score in scores),
        max(score.last for score in scores),
        sum(score.strings for score in scores),
        merged([score.measures for score in scores]),
    )


def pooled(task: Task, scores: Sequence[CellScore]) -> dict[str, Measure]:
    """Return the plugin metrics that are not means, over all finite cells together.

    Such metrics cannot be averaged over cells (the mean of F1 is not F1), so each is computed once
    from the sum of all states.
    """
    measures: dict[str, Measure] = {}
    for metric in task.extra_metrics:
        states = [
            score.states[metric.name]
            for score in scores
            if score.finite and metric.name in score.states
        ]
        if states:
            measures |= metric.finish(add_up(states))
    return measures


def _batches(network: nn.Module, task: Task, cell: Cell, beam: int) -> Iterator[Example]:
    """Cut the strings of a cell into batches that fit into memory and suit a network."""
    padding = traits_of(network).padding
    for example in cell.examples:
        for part in [example] if padding else split(example, task.layout):
            answers = 0 if part.decoded is None else part.decoded.shape[1]
            logits = 1 if task.layout == "last" else part.length + answers
            # Each hypothesis takes as much memory as a string.
            slices = batches(len(part.inputs), part.length + answers, logits * task.outputs, beam)
            for rows in slices:
                yield part.rows(rows)


def _score(task: Task, cell: Cell, parts: Sequence[list[State]], *, finite: bool) -> CellScore:
    measures: dict[str, Measure] = {}
    unfinished: dict[str, State] = {}
    for metric, states in zip(task.metrics, zip(*parts, strict=True), strict=True):
        state = add_up(states)
        values = metric.finish(state)
        if metric in task.extra_metrics and type(metric).finish is not Metric.finish:
            unfinished[metric.name] = state
        if duplicates := measures.keys() & values:
            raise ValueError(f"{metric.name} measures {min(duplicates)}, as another metric does")
        measures |= values
    return CellScore(cell.first, cell.last, cell.strings, measures, cell.group, finite, unfinished)


def _in_threads(
    threads: int, judge: Callable[[_Job], list[State]], jobs: Sequence[_Job]
) -> list[list[State]]:
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            return list(pool.map(judge, jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@torch.no_grad()
def _judge(
    network: nn.Module,
    task: Task,
    cell: Cell,
    example: Example,
    device: torch.device,
    how: Search | None,
) -> list[State]:
    """Return the metric states of a network's answers to some strings of a cell."""
    length = cell.last if cell.first == cell.last else example.length
    example = tensors(example, device)
    padded = example
    if task.layout == "decoded":  # first, since the forced pass shows the network the right answers
        free = _free_logits(network, task, example, how)
        padded = _pad(example, free.shape[1])
        free = _finite(free, padded, length)
    forced = _finite(network(example.batch), example, length)
    if task.layout != "decoded":
        free = forced
    states = []
    for metric in task.metrics:
        arguments = (forced, example) if metric.teacher_forced else (free, padded)
        state: State = metric.measure(*arguments).double().cpu().numpy()
        if not math.isfinite(state.sum()):
            raise NotFiniteError(f"the {metric.name} at length {length} is not finite")
        states.append(state)
    return states


def _free_logits(network: nn.Module, task: Task, example: Example, how: Search | None) -> Tensor:
    """Return the logits of a network given its own answers so far, (B, M+1 or more, K)."""
    room = task.objective.room(example)
    if room is None and how is None:
        return answered_freely(network, example)
    if room is None:  # a longer answer must not be cut where it is right
        room = example.decoded.shape[1] + 1
    return searched(network, example, room, task.outputs, how or Search())


def _pad(example: Example, answers: int) -> Example:
    """Return an example with room for more answers, which are not scored."""
    more = answers - example.targets.shape[1]
    if not more:
        return example
    targets, scored = (pad(part, (0, more)) for part in (example.targets, example.scored))
    return example._replace(targets=targets, scored=scored)


def _finite(logits: Tensor, example: Example, length: int) -> Tensor:
    """Return logits in fp32 or higher precision.

    Raises:
        NotFiniteError: if a logit that is scored is NaN or infinite.
    """
    logits = logits.float() if logits.dtype == torch.bfloat16 else logits
    scored = logits if example.scored is None else logits[example.scored]
    if not bool(torch.isfinite(scored).all()):
        raise NotFiniteError(f"a logit at length {length} is not finite")
    return logits


def batches(count: int, length: int, logits: int = 1, times: int = 1) -> Iterator[slice]:
    """Yield slices of `count` strings of one length as batches that fit in memory.

    Each string has `logits` logits, and takes the memory of `times` strings.
    """
    symbols, pairs = MAX_SYMBOLS // max(length, 1), MAX_PAIRS // max(length, 1) ** 2
    size = min(symbols // times, pairs // times, MAX_LOGITS // max(logits, 1))
    size = size - size % WHOLE if size > WHOLE else max(size, 1)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
