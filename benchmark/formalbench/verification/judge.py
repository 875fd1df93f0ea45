"""How a network does on strings: right or wrong, by what margin, at what cross-entropy.

Legend: B strings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.language import Symbols
from formalbench.contracts.task import Task
from formalbench.contracts.verification import Dtype
from formalbench.evaluation.evaluate import batches

DTYPES: dict[Dtype, torch.dtype] = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
}

ORACLE_TO = 8
"""The greatest length at which a task's own answers are held against its oracle."""

ORACLE_STRINGS = 2048
"""Strings of a block that are: the oracle is slow."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A string that was answered wrong.

    Attributes:
        string: in plain symbols, as `formalbench label` takes it.
        expected: a class, or the right answers as one text: classes, the legal sets as
            `formalbench label` prints them, or the next symbols.
        logit: the first wrong answer's: for two classes the logit of class 1 less that of
            class 0, for more classes that of the right class less the greatest other, for
            legal symbols that of the symbol; else minus the margin. None if it is not finite.
    """

    string: str
    expected: int | str
    logit: float | None


@dataclass
class Tally:
    """What came of the strings of one length.

    Attributes:
        strings, errors: how many, and how many of them wrong; a logit that is not finite is
            an error.
        finite: how many had finite logits: the figures below are theirs.
        min_margin: the least distance of a logit to the decision.
        sum_bits, max_bits: cross-entropy per answer, the sum over the strings and the worst.
    """

    strings: int = 0
    errors: int = 0
    finite: int = 0
    min_margin: float = math.inf
    sum_bits: float = 0.0
    max_bits: float = 0.0

    @property
    def accuracy(self) -> float:
        """The share of strings answered right."""
        return (self.strings - self.errors) / self.strings

    @property
    def mean_bits(self) -> float:
        """The mean cross-entropy of the strings with finite logits."""
        return self.sum_bits / self.finite


@dataclass
class Judge:
    """Asks a network about strings of a task.

    Attributes:
        network: in its dtype, on its device.
        task: what is asked.
        device: where the network is.
        asking: entered while the task's own code runs.
        first_failure: the first string answered wrong so far.
    """

    network: nn.Module
    task: Task
    device: torch.device
    asking: Callable[[], AbstractContextManager[None]] = nullcontext
    first_failure: Failure | None = None

    @torch.no_grad()
    def add(self, strings_BN: Symbols, tally: Tally, *, with_oracle: bool = False) -> None:
        """Judge strings of one length, in batches that fit into memory."""
        with self.asking():  # all at once: a language reads its strings symbol by symbol
            targets = self.task.objective.targets(self.task.language, strings_BN)
            if with_oracle:
                check_oracle(self.task, strings_BN[:ORACLE_STRINGS], targets)
        for rows in batches(len(strings_BN), strings_BN.shape[1]):
            self._add(strings_BN[rows], targets[rows], tally)

    def _add(self, strings_BN: Symbols, targets: npt.NDArray[Any], tally: Tally) -> None:
        objective = self.task.objective
        raw = self.network(Batch(torch.from_numpy(strings_BN).to(self.device)))
        self._check_shape(raw, strings_BN)
        # What a logit means is worked out in double precision, whatever it was computed in.
        logits = raw.double()
        finite_B = torch.isfinite(logits).flatten(1).all(-1)
        logits = torch.where(torch.isfinite(logits), logits, 0.0)
        wanted = torch.from_numpy(targets).to(self.device)
        right_B, bits_B = objective.score(logits, wanted)
        wrong_B = ~(right_B & finite_B)
        tally.strings += len(strings_BN)
        tally.errors += int(wrong_B.sum())
        tally.finite += int(finite_B.sum())
        if bool(finite_B.any()):
            tally.min_margin = min(
                tally.min_margin, float(objective.margin(logits)[finite_B].min())
            )
            tally.sum_bits += float(bits_B[finite_B].sum())
            tally.max_bits = max(tally.max_bits, float(bits_B[finite_B].max()))
        if self.first_failure is None and bool(wrong_B.any()):
            index = int(wrong_B.nonzero()[0])
            logit = (
                _telling_logit(raw[index].double(), wanted[index])
                if wanted.dtype == torch.bool or wanted.ndim == raw.ndim - 1
                else -float(objective.margin(raw[index : index + 1].double()))
            )
            self.first_failure = self._failure(strings_BN[index], targets[index], logit)

    def _check_shape(self, logits: Tensor, strings_BN: Symbols) -> None:
        count, length = strings_BN.shape
        answers = {"last": (), "each": (length,), "prefixes": (length + 1,)}[self.task.layout]
        expected = (count, *answers, self.task.outputs)
        if tuple(logits.shape) != expected:
            raise TypeError(f"logits of shape {tuple(logits.shape)}, not {expected}")

    def _failure(self, string_N: Symbols, target: Any, logit: float) -> Failure:
        task = self.task
        names = [task.alphabet[symbol] for symbol in string_N]
        short = all(len(symbol) == 1 for symbol in task.alphabet)
        with self.asking():
            expected = _expected(task, string_N, target)
        return Failure(
            string=("" if short else " ").join(names),
            expected=expected,
            logit=logit if math.isfinite(logit) else None,
        )


def _expected(task: Task, string_N: Symbols, target: Any) -> int | str:
    if task.layout == "last":
        return int(target)
    if task.objective.name == "generate":
        return " ".join(map(str, task.objective.plain(task.language, target)))
    return task.objective.show(task.language, string_N)


def _telling_logit(logits: Tensor, target: Tensor) -> float:
    """Return the logit that decided the first wrong answer of a string (see `Failure`).

    Args:
        logits: (K,) or (positions, K).
        target: the class, (positions,) classes, or (positions, K) bits.
    """
    if target.dtype == torch.bool:  # legal symbols: each bit is an answer
        wrong = (logits > 0) != target
        return float(logits[wrong | ~logits.isfinite()][:1].sum())
    logits, target = logits.reshape(-1, logits.shape[-1]), target.reshape(-1, 1)
    if logits.shape[-1] == 2:
        answers = logits[:, 1] - logits[:, 0]
        wrong = (answers > 0) != (target[:, 0] == 1)
    else:
        others = logits.scatter(1, target, -math.inf).amax(-1)
        answers = logits.gather(1, target)[:, 0] - others
        wrong = answers <= 0
    bad = (wrong | ~answers.isfinite()).nonzero()
    return float(answers[bad[0, 0] if len(bad) else 0])


def check_oracle(task: Task, strings_BN: Symbols, targets: npt.NDArray[Any]) -> None:
    """Hold a task's answers against the oracle of its language.

    Raises:
        FormalbenchError: if they differ: then no verdict on a model is worth anything.
    """
    for string_N, target in zip(strings_BN, targets, strict=False):
        symbols = string_N.tolist()
        prefixes = [symbols[:end] for end in range(len(symbols) + 1)]
        if task.layout == "last":
            told, known = [target], [task.language.oracle(symbols)]
        elif task.layout == "each":
            told, known = list(target), [task.language.oracle(part) for part in prefixes[1:]]
        elif target.dtype != np.bool_:
            continue  # the next symbols are those of the string itself
        else:
            # The last of the legal answers says whether the prefix itself is a member.
            told = list(target[:, -1])
            known = [task.language.oracle(part) for part in prefixes]
        if not np.array_equal(np.asarray(told, dtype=int), np.asarray(known, dtype=int)):
            string = " ".join(task.alphabet[symbol] for symbol in symbols)
            raise FormalbenchError(
                f"task {task.name} contradicts its own oracle at {string!r}: nothing is verified"
            )
