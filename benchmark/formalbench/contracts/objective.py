"""Objectives: what a task asks of a network, its metrics, and its chance level.

Legend: B strings, K outputs.
"""

from __future__ import annotations

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Example, Layout
from formalbench.contracts.source import CAPABILITIES, HasProcess, Source, Stream, Symbols

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.network import Batch
    from formalbench.contracts.task import Task


class Measure(NamedTuple):
    """A sum over answers and the number of answers; can be added."""

    total: float
    count: int  # type: ignore[assignment]  # a tuple has a method of this name

    @property
    def mean(self) -> float:
        """The mean; NaN if there are no answers."""
        return self.total / self.count if self.count else float("nan")

    def plus(self, other: Measure) -> Measure:
        """Add sums and counts."""
        return Measure(self.total + other.total, self.count + other.count)


Measures = Mapping[str, Measure]
"""Sums by metric name."""


def accept_old_names(kind: type, names: Mapping[str, str]) -> None:
    """Give methods that a class defines by an old name their new one, with a warning."""
    for old, new in names.items():
        if old in vars(kind) and new not in vars(kind):
            text = f"{kind.__name__}.{old} is now {new}; version 0.5 will ignore the old name"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
            setattr(kind, new, vars(kind)[old])


State = npt.NDArray[np.float64]
"""The sum of a metric's measurements so far; see `Metric.measure`."""


class Metric(ABC):
    """A measure of answers. The engine adds up the measurements of batches.

    Attributes:
        name: name in records and on boards; lower case with hyphens.
        teacher_forced: for the layout ``decoded``: whether the network gets the correct answers so
            far (as for cross-entropy) instead of its own.
        signature: anything else that decides its numbers, such as version and options of a library;
            stored in the record.
    """

    name: str
    teacher_forced: bool = False
    signature: str = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        accept_old_names(cls, {"know": "precompute"})

    def precompute(self, source: Source, strings_BN: Symbols) -> npt.NDArray[Any] | None:
        """Return additional data about strings of one length, (B, …).

        Computed once and stored as ``example.known[name]``. None (the default) for no data.
        """
        return None

    @abstractmethod
    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Measure a batch and return one tensor of numbers.

        For most metrics it is (2,): the sum over scored answers, and their number. A metric that
        needs more (a mean over distances) returns the input of `finish`; tensors of different
        lengths are aligned at their beginning.
        """

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the measures, by name, from the sum over all batches."""
        return {self.name: Measure(float(state[0]), round(float(state[1])))}


class StringMetric(Metric):
    """The share of correct strings, or the mean correct share of a string."""

    @abstractmethod
    def right(self, logits: Tensor, example: Example) -> Tensor:
        """Return which strings are correct, (B,) bool, or the correct share of each, 0 to 1.

        Must run under `torch.func.vmap`.
        """

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the number of correct strings and the number of strings."""
        import torch

        right_B = self.right(logits, example).double()
        return torch.stack((right_B.sum(), torch.ones_like(right_B).sum()))


def add_up(states: Iterable[State]) -> State:
    """Add two states, aligned at their beginning."""
    every = list(states)
    shape = np.max([state.shape for state in every], axis=0)
    total = np.zeros(shape)
    for state in every:
        total[tuple(slice(size) for size in state.shape)] += state
    return total


def whole_number(total: float) -> int | float:
    """Return a sum as records have it: a whole number as one."""
    return int(total) if math.isfinite(total) and total == int(total) else total


def merged(parts: Sequence[Measures]) -> dict[str, Measure]:
    """Add measures name by name; names missing in a part are dropped."""
    names = [name for name in parts[0] if all(name in part for part in parts)]
    result = {}
    for name in names:
        total, *rest = (part[name] for part in parts)
        for other in rest:
            total = total.plus(other)
        result[name] = total
    return result


PATIENCE = 3.0
"""Seconds that one check may spend on comparisons with a slow oracle."""


class BrokenPromiseError(AssertionError):
    """A check found something wrong."""


def demand(holds: object, problem: str) -> None:
    """Raise `BrokenPromiseError`, with a problem in one line, unless `holds`."""
    if not holds:
        raise BrokenPromiseError(problem)


class Patience:
    """Time limit of a check for comparisons with a slow oracle."""

    def __init__(self) -> None:
        self._until = time.process_time() + PATIENCE

    @property
    def ended(self) -> bool:
        """Whether the time is over."""
        return time.process_time() > self._until


Promise = tuple[str, Callable[[], None]]
"""A property that a task should have, in words, and a function that raises if it does not."""

CROSS_ENTROPY = "cross-entropy"
"""Name of the metric that every objective has, in bits per answer."""

MUTUAL_INFORMATION = "mutual-information"
"""Name of the metric of answer and target, in bits, that ``classify`` has for few classes. Older
records lack it and still count."""

MOST_ANSWERS = 10
"""Maximum number of valid answers in an error message."""

SURE = 64.0
"""Logit of an answer given as a label; its probability is 1 within rounding."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The accuracy of two trivial predictors over some lengths.

    Attributes:
        constant: of the best constant answer, averaged over the lengths.
        by_length: of the best answer that depends only on the length, at each length.
    """

    constant: float
    by_length: tuple[float, ...]

    @property
    def length_only(self) -> float:
        """The second predictor's accuracy, averaged over the lengths."""
        return sum(self.by_length) / len(self.by_length)


class Objective(ABC):
    """An objective: its examples, loss, metrics and chance level.

    Only an objective's own file knows the format of its targets. `logits` has the objective's
    layout.

    Legend: B strings, N symbols, K outputs.

    Attributes:
        name: as in ``parity:tag``.
        layout: where a network answers.
        needs: classes of `formalbench.contracts` that a source must inherit.
        sees_all: whether an answer may depend on the whole string instead of a prefix.
        only_viable: whether it is defined only for prefixes of members.
    """

    name: ClassVar[str]
    layout: ClassVar[Layout]
    needs: ClassVar[tuple[type, ...]]
    sees_all: ClassVar[bool] = False
    only_viable: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        accept_old_names(cls, {"telling": "decisive_logit", "plain": "to_json"})

    # Examples.

    def alphabet(self, source: Any) -> tuple[str, ...]:
        """Return the input symbols of a network; by default the source's."""
        alphabet: tuple[str, ...] = source.alphabet
        return alphabet

    @abstractmethod
    def answers(self, source: Any) -> tuple[str, ...]:
        """Return a display name for each of the K outputs."""

    def has_length(self, source: Any, length: int) -> bool:
        """Return whether strings of this length have anything to answer."""
        has: bool = source.has_length(length)
        return has

    def strings(self, source: Any, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of the source, of one length, (count, length)."""
        strings: Symbols = source.sample(stream, length, count)
        return strings

    @abstractmethod
    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Make an example of strings of one length.

        Args:
            source: of the strings.
            strings_BN: as the source draws them.
            stream: random numbers for the objective (such as which symbols it masks).
        """

    def batch(self, example: Example) -> Batch:
        """Return a network's training input, which may mark scored answers (`Batch.asked`)."""
        return example.batch

    # Scoring. Answers that `example.scored` leaves out are ignored.

    @abstractmethod
    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the training loss, a scalar in nats, averaged over scored answers."""

    @abstractmethod
    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Return the metrics, the primary one first; `CROSS_ENTROPY` must be among them."""

    def right(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return whether each string is correct, (B,) bool, or its correct share, 0 to 1.

        Curricula advance by it. The default uses the primary metric.

        Raises:
            TypeError: if the primary metric is no `formalbench.StringMetric` and this method is not
                overridden.
        """
        if not isinstance(primary, StringMetric):
            raise TypeError(
                f"the objective {self.name} must define Objective.right, because "
                f"its primary metric {primary.name} is not a formalbench.StringMetric"
            )
        return primary.right(logits, example)

    def preference(self, measures: Measures, primary: str) -> tuple[float, ...]:
        """Return the key by which checkpoints are compared; the greatest is selected.

        By default the primary metric's mean, then lower cross-entropy.
        """
        return measures[primary].mean, -measures[CROSS_ENTROPY].mean

    @abstractmethod
    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the chance level of the primary metric over cells of these lengths.

        Args:
            source: source of the strings.
            lengths: one length per cell.
            stream: random numbers for estimates.
        """

    def stated_chance(self, source: Any, lengths: Sequence[int]) -> Chance | None:
        """Return the chance level if it is known without sampling strings, else None (the default).

        Args:
            source: source of the strings.
            lengths: one length per cell.
        """
        return None

    def smoothed(self, share: float) -> Objective:
        """Return this objective with label smoothing in its loss.

        Args:
            share: probability that is spread over all outputs (Szegedy et al. 2016, §7).

        Raises:
            RequestError: unless this is overridden.
        """
        raise RequestError(f"{self.name} does not support label_smoothing")

    def room(self, example: Example) -> int | None:
        """Return the maximum length of generated answers in a test, for the layout ``decoded``.

        None (the default) for the length of the longest correct answer, because any longer answer
        is wrong. Metrics that compare whole answers may need more.
        """
        return None

    # Display and verification.

    @abstractmethod
    def show(self, source: Any, string: Symbols) -> str:
        """Return the correct answer for one string (N,) as `formalbench label` prints it."""

    @abstractmethod
    def to_json(self, source: Any, example: Example) -> list[Any]:
        """Return each string's correct answer as `formalbench sample` writes it in JSON."""

    # Answers of external systems.

    def labels(self, source: Any, strings_BN: Symbols) -> list[Any]:
        """Return the correct answers of strings of one length, in the format of `to_json`."""
        return self.to_json(source, self.examples(source, strings_BN, Stream("label")))

    def read_answer(self, source: Any, answer: Any, example: Example) -> npt.NDArray[Any]:
        """Convert one string's external answer to an array with the format of its targets.

        Args:
            source: source of the string.
            answer: in the format of `to_json` or `show`: one class or several, each as its number
                or its name in `answers`, as a list or as text with spaces.
            example: the string with its correct answer; B is 1.

        Raises:
            ValueError: saying what is wrong with the answer.
        """
        answers = answer.split() if isinstance(answer, str) else answer
        answers = answers if isinstance(answers, list) else [answers]
        scored = np.ones(example.targets.shape, bool) if example.scored is None else example.scored
        if len(answers) != scored.size:
            raise ValueError(f"expected {scored.size} labels, got {len(answers)}")
        names = {name: number for number, name in enumerate(self.answers(source))}
        labels = np.zeros(scored.size, dtype=np.int64)
        for place in np.flatnonzero(scored):
            label = answers[place]
            label = names.get(label, label) if isinstance(label, str) else label
            if type(label) is not int or not 0 <= label < len(names):
                valid = self._known([*names])
                raise ValueError(f"{answers[place]!r:.40} is not a valid answer (valid: {valid})")
            labels[place] = label
        return labels.reshape(example.targets.shape[1:])

    def _known(self, names: Sequence[str]) -> str:
        more = len(names) - MOST_ANSWERS
        return ", ".join(names[:MOST_ANSWERS]) + (f" and {more} more" if more > 0 else "")

    def decided(self, labels: Tensor, outputs: int) -> Tensor:
        """Return logits (…, K) that give external labels a probability of 1.

        The default is for targets that are classes (…), each one of K `outputs`.
        """
        from torch.nn.functional import one_hot

        return one_hot(labels.long(), outputs).float() * SURE

    def margin(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return the margin of each string's least certain answer, (B,).

        In units of logits, never negative; 0 is a tie. Verification of exact models uses it.
        """
        raise NotImplementedError

    def decisive_logit(self, logits: Tensor, example: Example, primary: Metric) -> float:
        """Return the logit that decided a wrong answer; B is 1.

        By default minus its margin.
        """
        return -float(self.margin(logits, example, primary)[0])

    def expected(self, source: Any, string: Symbols, example: Example) -> int | str:
        """Return the correct answer for one string as a failed verification shows it; B is 1."""
        return self.show(source, string)

    def contradicts(self, source: Any, example: Example) -> int | None:
        """Return the index of a string whose target the source's oracle contradicts, if any."""
        return None

    def promises(self, task: Task) -> Iterator[Promise]:
        """Return what `formalbench check` checks of a task under this objective."""
        yield from ()

    # Supported sources.

    def refusal(self, source: Any) -> str | None:
        """Return why a source does not support this objective, in one line; None if it does."""
        for needed in self.needs:
            if not isinstance(source, needed):
                kind, own = needed.__name__, needed.__module__.partition(".")[0] == "formalbench"
                if (what := CAPABILITIES.get(needed)) is not None:
                    lacks = f"{what}, and {type(source).__name__} does not have it"
                else:
                    lacks = f"a {kind}, and {type(source).__name__} is none"
                return f"{self.name} needs {lacks} (inherit {'formalbench.' * own}{kind})"
        return None


def process_of(source: Source, objective: Objective) -> Any:
    """Return the source if it has a string process, from which windows of lengths are drawn.

    Raises:
        RequestError: if it has none, or does not support the objective.
    """
    if not isinstance(source, HasProcess) or HasProcess not in objective.needs:
        raise RequestError(f"{objective.name} has no process that draws strings of any length")
    return source


def as_lists(targets: npt.NDArray[Any]) -> list[Any]:
    """Return integer targets as nested lists."""
    plain: list[Any] = np.asarray(targets).astype(np.int64).tolist()
    return plain
