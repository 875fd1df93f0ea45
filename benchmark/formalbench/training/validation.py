"""Held-out strings: the selection of checkpoints, learning curves and probes.

Learning curves select nothing. Their strings come from a random stream that training, validation
and test do not use. A probe is a function of a network's trace, with the names listed in
`formalbench.contracts.network.Traceable`. It returns one series per place, and raises KeyError if
the trace lacks a tensor. Two are built in.

Legend: P parameters of a network, B strings, N symbols, H heads, M positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, Example, Traceable, tensors
from formalbench.contracts.objective import CROSS_ENTROPY, Measure, whole_number
from formalbench.contracts.protocol import Protocol, Watch
from formalbench.contracts.record import Curve, History
from formalbench.contracts.task import Task
from formalbench.device import forward_in
from formalbench.evaluation.cells import Cell, validation_set, watch_set
from formalbench.evaluation.evaluate import CellScore, NotFiniteError, evaluate, total
from formalbench.training.run_state import Checkpoint, CurvePoint

Trace = Mapping[str, Tensor]

Series = dict[str, Tensor]
"""One number per string, (B,), by place such as ``block.0.head.1``."""

Read = Callable[[Trace], Series]
"""A probe."""


class Validator:
    """Scores the runs of a cohort on the same strings."""

    def __init__(self, task: Task, protocol: Protocol, device: torch.device) -> None:
        self._task, self._device, self._precision = task, device, protocol.precision
        self._strings = validation_set(task, protocol)

    def score(self, network: nn.Module, step: int, weights_P: Tensor) -> Checkpoint:
        """Validate a network; return it as a checkpoint that may be selected.

        The weights `weights_P` are not copied.

        Raises:
            NotFiniteError: if a logit is not finite.
        """
        task = self._task
        scores = evaluate(network, task, self._strings, self._device, precision=self._precision)
        overall = total(scores)
        preference = task.objective.preference(each_cell_alike(scores), task.primary.name)
        # A value that is unknown, because there were no answers, is worse than any other.
        comparable = tuple(-math.inf if math.isnan(one) else one for one in preference)
        return Checkpoint(step, overall.strings, overall.measures, comparable, weights_P)


def each_cell_alike(scores: Sequence[CellScore]) -> dict[str, Measure]:
    """Return measures over all cells, with equal weight per cell, as in a test.

    If all cells have the same number of answers, this is exactly the sum over all answers.
    """
    measures = total(scores).measures
    for name in measures:
        cells = [score.measures[name] for score in scores]
        if len({cell.count for cell in cells}) > 1:
            means = [cell.mean for cell in cells if cell.count]
            measures[name] = Measure(math.fsum(means), len(means))
    return measures


MAX_NUMBERS = 640
"""Maximum numbers in the learning curves of a run, which keeps its record small."""

_TRACED_AT_ONCE = 4
"""Strings per trace; a trace keeps large intermediate values such as attention matrices."""


def check_watch(
    network: nn.Module, model: str, task: Task, protocol: Protocol, probes: Mapping[str, Read]
) -> None:
    """Check before training that the learning curves of a protocol can be recorded."""
    watch = protocol.watch
    if watch is None:
        return
    watch_set(task, watch.model_copy(update={"strings": 1}))
    try:
        series = count_series(probes, network, task, watch.lengths[0])
    except RequestError as error:
        raise RequestError(f"protocol {protocol.name} on model {model}: {error}") from None
    numbers = protocol.steps // watch.every * len(watch.lengths) * (2 + series)
    if numbers > MAX_NUMBERS:
        raise RequestError(
            f"protocol {protocol.name} on model {model}: its curves would have {numbers} numbers, "
            f"more than {MAX_NUMBERS}: raise watch.every, or watch fewer lengths or probes"
        )


class CurveRecorder:
    """Records the learning curves of a cohort's runs."""

    def __init__(
        self,
        task: Task,
        protocol: Protocol,
        watch: Watch,
        device: torch.device,
        probes: Mapping[str, Read],
    ) -> None:
        self._task, self._protocol, self._watch, self._device = task, protocol, watch, device
        self._probes = probes
        self.test_set = watch_set(task, watch)

    def look(self, network: nn.Module) -> tuple[CurvePoint, ...]:
        """Test a network and read its probes; return one point per length.

        Raises:
            NotFiniteError: if a logit, or a value of a probe, is not finite.
        """
        precision = self._protocol.precision
        scores = evaluate(network, self._task, self.test_set, self._device, precision=precision)
        return tuple(
            self._point(score, self._probe(network, cell))
            for score, cell in zip(scores, self.test_set.cells, strict=True)
        )

    def history(self, seen: Sequence[tuple[CurvePoint, ...]]) -> History | None:
        """Return the curves so far in the form of a record; None if there are none."""
        if not seen:
            return None
        by_length = zip(self.test_set.cells, zip(*seen, strict=True), strict=True)
        return History(
            every=self._watch.every,
            fingerprint=self.test_set.fingerprint,
            curves=tuple(_curve(cell, points) for cell, points in by_length),
        )

    def _point(self, score: CellScore, probes: dict[str, float]) -> CurvePoint:
        primary = score.measures[self._task.primary.name]
        bits = score.measures[CROSS_ENTROPY].mean
        return CurvePoint(whole_number(primary.total), primary.count, round(1000 * bits), probes)

    def _probe(self, network: nn.Module, cell: Cell) -> dict[str, float]:
        if not self._probes:
            return {}
        (example,) = cell.examples  # all of one length
        strings = example.rows(slice(self._watch.probed))
        count = len(strings.inputs)
        sums: dict[str, float] = {}
        network.eval()
        with torch.no_grad(), forward_in(self._protocol.precision, self._device):
            for first in range(0, count, _TRACED_AT_ONCE):
                self._add(sums, network, strings.rows(slice(first, first + _TRACED_AT_ONCE)))
        network.train()
        if not all(map(math.isfinite, sums.values())):
            raise NotFiniteError(f"a probe at length {cell.last} is not finite")
        # Four digits are enough for a curve; all digits would not fit into a record.
        return {key: float(f"{total / count:.4g}") for key, total in sums.items()}

    def _add(self, sums: dict[str, float], network: nn.Module, example: Example) -> None:
        """Add the probes' values on some strings to the sums, by probe and position."""
        batch = tensors(example, self._device).batch
        for name, read in self._probes.items():
            for place, value_B in read_probe(name, read, network, batch).items():
                key = f"{name}.{place}"
                sums[key] = sums.get(key, 0.0) + float(value_B.double().sum())


def _curve(cell: Cell, points: Sequence[CurvePoint]) -> Curve:
    answers = points[0].answers
    return Curve(
        length=cell.last,
        strings=cell.strings,
        answers=None if answers == cell.strings else answers,
        correct=tuple(point.correct for point in points),
        millibits=tuple(point.millibits for point in points),
        probes={key: tuple(point.probes[key] for point in points) for key in points[0].probes},
    )


# Probes.


def read_probe(name: str, read: Read, network: nn.Module, batch: Batch) -> Series:
    """Compute probes of a network on a batch; the caller sets mode and gradients."""
    kind = type(network).__name__
    if not isinstance(network, Traceable):
        raise RequestError(f"probe {name} looks into a network: {kind} has no trace")
    trace = network.trace(batch)
    try:
        return read(trace)
    except KeyError as error:
        raise RequestError(f"probe {name}: the trace of {kind} has no {error.args[0]}") from None


def count_series(probes: Mapping[str, Read], network: nn.Module, task: Task, length: int) -> int:
    """Return the number of series, by computing the probes on one string."""
    if not probes:
        return 0
    batch = tensors(task.sample(task.stream("probe", length), length, 1)).batch
    with torch.no_grad():
        return sum(len(read_probe(name, read, network, batch)) for name, read in probes.items())


def attention_on_first(trace: Trace) -> Series:
    """Return the weight of the string's first symbol, by head."""
    at_B = trace["first.position"]
    return {
        place: weights_BM.gather(1, at_B[:, None]).squeeze(1)
        for place, weights_BM in _answer_attention(trace)
    }


def attention_entropy(trace: Trace) -> Series:
    """Return the entropy of the attention in bits, by head."""
    return {
        place: torch.special.entr(weights_BM).sum(1) / torch.log(weights_BM.new_tensor(2.0))
        for place, weights_BM in _answer_attention(trace)
    }


def _answer_attention(trace: Trace) -> Iterator[tuple[str, Tensor]]:
    """Return each head's attention weights from the answering position, (B, M)."""
    at_B = trace["answer.position"]
    suffix = ".attention"
    names = [name for name, t in trace.items() if name.endswith(suffix) and t.dim() == 4]
    if not names:
        raise KeyError("NAME.attention")
    rows_B = torch.arange(len(at_B), device=at_B.device)
    for name in names:
        for head, weights_BMM in enumerate(trace[name].unbind(1)):
            yield f"{name.removesuffix(suffix)}.head.{head}", weights_BMM[rows_B, at_B]
