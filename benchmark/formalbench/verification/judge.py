"""Judge a network's answers: correctness, margin and cross-entropy.

Legend: B strings, N symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.network import Example, split, tensors, traits_of
from formalbench.contracts.objective import CROSS_ENTROPY, Metric
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task, expected_shape
from formalbench.contracts.verification import Dtype
from formalbench.evaluation.evaluate import batches
from formalbench.metrics.answers import CrossEntropy

DTYPES: dict[Dtype, torch.dtype] = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
}

Rows = Symbols | Sequence[Symbols]
"""Strings (N,) one by one, or all of one length, (B, N)."""

ORACLE_TO = 8
"""The largest length at which a task's answers are compared with its oracle."""

ORACLE_STRINGS = 2048
"""Strings per block that are compared, since the oracle is slow."""


class WrongAnswer(NamedTuple):
    """A string that was answered wrong.

    Attributes:
        string: its symbols, in the form that `formalbench label` takes.
        expected: a class, or the correct answers as one text: classes, legal sets in the form that
            `formalbench label` prints, or next symbols.
        logit: the decisive logit, as defined by the objective; None if it is not finite.
    """

    string: str
    expected: int | str
    logit: float | None


@dataclass
class Tally:
    """Results on the strings of one length.

    Attributes:
        strings, errors: number of strings, and of wrong ones; a logit that is not finite is an
            error.
        finite: number of strings with finite logits, which the values below refer to.
        min_margin: smallest distance of a logit to the decision threshold.
        sum_bits, max_bits: cross-entropy per answer in bits: sum over strings, and maximum.
    """

    strings: int = 0
    errors: int = 0
    finite: int = 0
    min_margin: float = math.inf
    sum_bits: float = 0.0
    max_bits: float = 0.0

    @property
    def accuracy(self) -> float:
        """The share of correctly answered strings."""
        return (self.strings - self.errors) / self.strings

    @property
    def mean_bits(self) -> float:
        """The mean cross-entropy of the strings with finite logits."""
        return self.sum_bits / self.finite


@dataclass
class Judge:
    """Judges a network's answers to strings of a task.

    Attributes:
        asking: a context that is entered while the task's code runs.
        first_failure: the first string answered wrong so far.
    """

    network: nn.Module
    task: Task
    device: torch.device
    asking: Callable[[], AbstractContextManager[None]] = nullcontext
    first_failure: WrongAnswer | None = None

    @torch.no_grad()
    def add(self, example: Example, tally: Tally, strings: Rows | None = None) -> None:
        """Judge an example, in batches that fit into memory.

        Args:
            example: NumPy arrays; may be padded.
            tally: the counts to update.
            strings: the original strings (N,); None if they equal the inputs.
        """
        if strings is None:
            strings = plain_strings(example)
        for part, of_part in self._fitting(example, strings):
            answers = 0 if part.decoded is None else part.decoded.shape[1]
            for rows in batches(len(of_part), part.length + answers):
                self._add(part.rows(rows), of_part[rows], tally)

    def _fitting(self, example: Example, strings: Rows) -> Iterator[tuple[Example, Rows]]:
        """Yield an example or, if the network supports no padding, its strings by length."""
        if example.lengths is None or traits_of(self.network).padding:
            yield example, strings
            return
        for length in np.unique(example.lengths):
            rows = np.flatnonzero(example.lengths == length)
            (part,) = split(example.rows(rows), self.task.layout)
            yield part, [strings[row] for row in rows.tolist()]

    def _add(self, example: Example, strings: Rows, tally: Tally) -> None:
        asked = tensors(example, self.device)
        raw = self._answer(asked)
        finite_B = _finite(raw, asked)
        logits = torch.where(torch.isfinite(raw), raw, 0.0)
        # The layout ``decoded`` needs no decoding here: a network that is right given all correct
        # answers so far produces exactly these answers when it decodes.
        right_B = self.task.objective.right(logits, asked, self.task.primary) >= 1
        wrong_B = ~(right_B & finite_B)
        tally.strings += len(strings)
        tally.errors += int(wrong_B.sum())
        tally.finite += int(finite_B.sum())
        if bool(finite_B.any()):
            margin_B = self._margin(logits, asked)[finite_B]
            metric = next(one for one in self.task.metrics if one.name == CROSS_ENTROPY)
            bits_B = _bits(metric, logits, asked)[finite_B]
            tally.min_margin = min(tally.min_margin, float(margin_B.min()))
            tally.sum_bits += float(bits_B.sum())
            tally.max_bits = max(tally.max_bits, float(bits_B.max()))
        if self.first_failure is None and bool(wrong_B.any()):
            index = int(wrong_B.nonzero()[0])
            row = slice(index, index + 1)
            logit = self._decisive_logit(raw[row], asked.rows(row))
            self.first_failure = self._failure(strings[index], example.rows(row), logit)

    def _answer(self, example: Example) -> Tensor:
        """Return the logits in double precision."""
        logits: Tensor = self.network(example.batch)
        shape = expected_shape(self.task, example.batch)
        if tuple(logits.shape) != shape:
            raise TypeError(f"logits of shape {tuple(logits.shape)}, not {shape}")
        return logits.double()

    def _margin(self, logits: Tensor, example: Example) -> Tensor:
        try:
            return self.task.objective.margin(logits, example, self.task.primary)
        except NotImplementedError:  # the objective defines no margin
            return logits.new_full((len(logits),), math.inf)

    def _decisive_logit(self, logits: Tensor, example: Example) -> float:
        try:
            return self.task.objective.decisive_logit(logits, example, self.task.primary)
        except NotImplementedError:
            return math.nan

    def _failure(self, string_N: Symbols, example: Example, logit: float) -> WrongAnswer:
        source = self.task.source
        names = [source.alphabet[symbol] for symbol in string_N]
        short = all(len(symbol) == 1 for symbol in source.alphabet)
        (unpadded,) = split(example, self.task.layout)
        with self.asking():
            expected = self.task.objective.expected(source, string_N, unpadded)
        return WrongAnswer(
            string=("" if short else " ").join(names),
            expected=expected,
            logit=logit if math.isfinite(logit) else None,
        )


def plain_strings(example: Example) -> Rows:
    """Return each string of an example of NumPy arrays without its padding, (N,)."""
    if example.lengths is None:
        strings: Symbols = example.inputs
        return strings
    return [row[:size] for row, size in zip(example.inputs, example.lengths, strict=True)]


def check_oracle(task: Task, strings_BN: Symbols, example: Example) -> None:
    """Compare a task's answers with the oracle of its source.

    Raises:
        FormalbenchError: if they differ, since verification would then be meaningless.
    """
    wrong = task.objective.contradicts(task.source, example)
    if wrong is not None:
        string = " ".join(task.source.alphabet[symbol] for symbol in strings_BN[wrong])
        raise FormalbenchError(
            f"task {task.name} contradicts its oracle at {string!r}, so nothing was verified"
        )


def _finite(logits: Tensor, example: Example) -> Tensor:
    """Return a mask of the strings whose scored logits are all finite, (B,)."""
    finite = torch.isfinite(logits).all(-1)
    if example.scored is not None:
        finite = finite | ~example.scored
    return finite.reshape(len(logits), -1).all(-1)


def _bits(metric: Metric, logits: Tensor, example: Example) -> Tensor:
    """Return each string's cross-entropy per answer in bits, (B,)."""
    if isinstance(metric, CrossEntropy):
        return metric.bits(logits, example)
    # A metric of the objective itself, which is computed for each string separately.
    parts = {name: part for name, part in example._asdict().items() if part is not None}

    def of_one(logits: Tensor, parts: dict[str, Any]) -> Tensor:
        return metric.measure(logits.unsqueeze(0), Example(**parts).map(lambda p: p.unsqueeze(0)))

    sums_B2 = torch.func.vmap(of_one)(logits, parts)
    return sums_B2[:, 0] / sums_B2[:, 1]
