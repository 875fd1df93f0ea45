"""What a task asks for, and its chance level."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from formalbench.contracts.errors import RequestError
from formalbench.contracts.example import Example, Layout
from formalbench.contracts.metric import Measures, StringMetric
from formalbench.contracts.source import CAPABILITIES, HasProcess, Source, Stream, Symbols

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Batch
    from formalbench.contracts.metric import Metric
    from formalbench.contracts.task import Task


PATIENCE = 3.0
"""Seconds of computing for one promise's comparisons with a slow oracle; then a few are enough."""


class BrokenPromiseError(AssertionError):
    """A check found something wrong."""


def demand(holds: object, problem: str) -> None:
    """Raise `BrokenPromiseError` unless `holds`.

    Args:
        holds: anything with a truth.
        problem: one line that says what is wrong.
    """
    if not holds:
        raise BrokenPromiseError(problem)


class Patience:
    """How long a promise waits for an oracle, which may be as slow as it likes."""

    def __init__(self) -> None:
        self._until = time.process_time() + PATIENCE

    @property
    def ended(self) -> bool:
        """Whether it has waited long enough."""
        return time.process_time() > self._until


Promise = tuple[str, Callable[[], None]]
"""What a task should do, in words, and what raises if it does not."""

CROSS_ENTROPY = "cross-entropy"
"""The metric, in bits per answer, that every objective has."""

MUTUAL_INFORMATION = "mutual-information"
"""The metric of answer and target, in bits, that ``classify`` has for few classes. Records of its
tests from before it was measured lack it, and count."""

MOST_ANSWERS = 10
"""Right answers that an error names."""

SURE = 64.0
"""The logit of an answer that came as a label: its probability is 1 within rounding."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The accuracy of two trivial predictors over some lengths.

    Attributes:
        constant: of the best answer that is always the same, averaged over the lengths.
        by_length: of the best answer that sees only the length, at each length.
    """

    constant: float
    by_length: tuple[float, ...]

    @property
    def length_only(self) -> float:
        """The second predictor's accuracy, averaged over the lengths."""
        return sum(self.by_length) / len(self.by_length)


class Objective(ABC):
    """One objective: the examples it makes of a source, its loss, metrics and chance level.

    Only an objective's own file knows how its targets look. `logits` has the objective's layout.

    Legend: B strings, N symbols, K outputs.

    Attributes:
        name: as in ``parity:tag``.
        layout: where a network answers.
        needs: classes of `formalbench.contracts` that a source must inherit.
        sees_all: whether an answer may depend on the whole string, and not on its prefix only.
        only_viable: whether it is defined only for prefixes of members.
    """

    name: ClassVar[str]
    layout: ClassVar[Layout]
    needs: ClassVar[tuple[type, ...]]
    sees_all: ClassVar[bool] = False
    only_viable: ClassVar[bool] = False

    # What it makes of a source.

    def alphabet(self, source: Any) -> tuple[str, ...]:
        """Return the symbols a network is given; by default the source's own."""
        alphabet: tuple[str, ...] = source.alphabet
        return alphabet

    @abstractmethod
    def answers(self, source: Any) -> tuple[str, ...]:
        """Return what each of the K outputs stands for, as shown to people."""

    def has_length(self, source: Any, length: int) -> bool:
        """Say whether there is anything to ask at this length."""
        known: bool = source.has_length(length)
        return known

    def strings(self, source: Any, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of the source, of one length, (count, length)."""
        drawn: Symbols = source.sample(stream, length, count)
        return drawn

    @abstractmethod
    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Make an example of strings of one length.

        Args:
            source: of the strings.
            strings_BN: as the source draws them.
            stream: for what the objective draws itself (which symbols it masks).
        """

    def batch(self, example: Example) -> Batch:
        """Return a network's training input, which may mark scored answers (`Batch.asked`)."""
        return example.batch

    # How answers are judged. All of it ignores answers that `example.scored` leaves out.

    @abstractmethod
    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the training loss, a scalar in nats, averaged over the answers scored."""

    @abstractmethod
    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Return what is measured, the primary metric first; `CROSS_ENTROPY` is among them."""

    def right(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return whether each string is right, (B,) bool, or the right share of it, 0 to 1.

        By it a curriculum moves on. The default takes the primary metric's word.

        Raises:
            TypeError: if that is no `formalbench.StringMetric`: then this must be overridden.
        """
        if not isinstance(primary, StringMetric):
            raise TypeError(
                f"the objective {self.name} must define Objective.right, because "
                f"its primary metric {primary.name} is not a formalbench.StringMetric"
            )
        return primary.right(logits, example)

    def preference(self, measures: Measures, primary: str) -> tuple[float, ...]:
        """Return by what a checkpoint is chosen: the greatest wins, the first number first.

        By default the primary metric's mean, then the lesser cross-entropy.
        """
        return measures[primary].mean, -measures[CROSS_ENTROPY].mean

    @abstractmethod
    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the chance level of the primary metric over cells of these lengths.

        Args:
            source: what is asked about.
            lengths: one length per cell.
            stream: for what has to be estimated.
        """

    def stated_chance(self, source: Any, lengths: Sequence[int]) -> Chance | None:
        """Return the chance level if it is known without drawing a string; by default it is not.

        Args:
            source: what is asked about.
            lengths: one length per cell.
        """
        return None

    def smoothed(self, share: float) -> Objective:
        """Return this objective with a loss that smooths labels, as a protocol may ask.

        Args:
            share: of the probability that is spread over all outputs (Szegedy et al. 2016, §7).

        Raises:
            RequestError: unless this is overridden.
        """
        raise RequestError(f"{self.name} does not support label_smoothing")

    def room(self, example: Example) -> int | None:
        """Return how much a network may say of itself in a test; for the layout ``decoded``.

        None (the default) for as many symbols as the longest right answer has: one that goes on
        is wrong already. A measure that compares answers as wholes needs more.
        """
        return None

    # How it is shown and verified.

    @abstractmethod
    def show(self, source: Any, string: Symbols) -> str:
        """Return the right answer for one string (N,) as `formalbench label` prints it."""

    @abstractmethod
    def plain(self, source: Any, example: Example) -> list[Any]:
        """Return each string's right answer as `formalbench sample` writes it into JSON."""

    # How answers from elsewhere are read and judged.

    def labels(self, source: Any, strings_BN: Symbols) -> list[Any]:
        """Return the right answer of each string, as `plain` has it; strings of one length."""
        return self.plain(source, self.examples(source, strings_BN, Stream("label")))

    def read_answer(self, source: Any, answer: Any, example: Example) -> npt.NDArray[Any]:
        """Return one string's answer from elsewhere as an array like the string's targets.

        Args:
            source: of the string.
            answer: as `plain` or `show` has the right one: a class or several, each by its number
                or its name in `answers`, as a list or as text with spaces.
            example: of the one string, with the right answer; B is 1.

        Raises:
            ValueError: saying what is wrong with the answer.
        """
        told = answer.split() if isinstance(answer, str) else answer
        told = told if isinstance(told, list) else [told]
        asked = np.ones(example.targets.shape, bool) if example.scored is None else example.scored
        if len(told) != asked.size:
            raise ValueError(f"expected {asked.size} labels, got {len(told)}")
        names = {name: number for number, name in enumerate(self.answers(source))}
        labels = np.zeros(asked.size, dtype=np.int64)
        for place in np.flatnonzero(asked):
            label = told[place]
            label = names.get(label, label) if isinstance(label, str) else label
            if type(label) is not int or not 0 <= label < len(names):
                known = self._known([*names])
                raise ValueError(f"{told[place]!r:.40} is not a valid answer (valid: {known})")
            labels[place] = label
        return labels.reshape(example.targets.shape[1:])

    def _known(self, names: Sequence[str]) -> str:
        more = len(names) - MOST_ANSWERS
        return ", ".join(names[:MOST_ANSWERS]) + (f" and {more} more" if more > 0 else "")

    def decided(self, labels: Tensor, outputs: int) -> Tensor:
        """Return logits (…, K) that are sure of labels from elsewhere, given like targets.

        The default is for targets that are classes, (…): one of K `outputs` each.
        """
        from torch.nn.functional import one_hot

        return one_hot(labels.long(), outputs).float() * SURE

    def margin(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return how far each string's least certain answer is from being another, (B,).

        In units of the logits, never negative; 0 is a tie. Exact models are judged by it.
        """
        raise NotImplementedError

    def telling(self, logits: Tensor, example: Example, primary: Metric) -> float:
        """Return the logit that decided a string which was answered wrong; B is 1.

        By default minus its margin.
        """
        return -float(self.margin(logits, example, primary)[0])

    def expected(self, source: Any, string: Symbols, example: Example) -> int | str:
        """Return the right answer for one string (N,) as a failed verification shows it; B is 1."""
        return self.show(source, string)

    def contradicts(self, source: Any, example: Example) -> int | None:
        """Return the index of a string whose target the source's oracle contradicts, if any."""
        return None

    def promises(self, task: Task) -> Iterator[Promise]:
        """Return what `formalbench check` holds a task to under this objective."""
        yield from ()

    # What it cannot be asked of.

    def refusal(self, source: Any) -> str | None:
        """Return in one line why a source does not support this objective; None if it does."""
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
    """Return a source that has a process; objectives of such sources draw windows of lengths.

    Raises:
        RequestError: if it has none, or does not support the objective.
    """
    if not isinstance(source, HasProcess) or HasProcess not in objective.needs:
        raise RequestError(f"{objective.name} has no process that draws strings of any length")
    return source


def as_plain(targets: npt.NDArray[Any]) -> list[Any]:
    """Return targets of whole numbers as JSON has them."""
    plain: list[Any] = np.asarray(targets).astype(np.int64).tolist()
    return plain
