"""The result of a run, the reason if it failed, and its record."""

from __future__ import annotations

import hashlib
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalbench.contracts.cells import Cells, Sums
from formalbench.contracts.errors import BrokenPluginError, FormalbenchError
from formalbench.contracts.objective import (
    CROSS_ENTROPY,
    MUTUAL_INFORMATION,
    Measure,
    Measures,
    merged,
    whole_number,
)
from formalbench.contracts.record import (
    MOST_POINTS,
    CohortMember,
    LearningCurve,
    MetricSum,
    Place,
    Record,
    SelectedCheckpoint,
    Status,
    TestResult,
    Training,
    date_now,
)
from formalbench.contracts.verification import SCHEMA_VERSION
from formalbench.device import describe_environment, is_out_of_memory

if TYPE_CHECKING:
    from torch import nn

    from formalbench.evaluation.evaluate import CellScore
    from formalbench.host import PluginHost
    from formalbench.running.plan import Run
    from formalbench.training.run_state import Checkpointer, LearningPoint
    from formalbench.training.trainer import TrainingResult


MAX_LINE = 500
"""Maximum characters of a message, or of a stack frame."""


MAX_FRAMES = 8


_ENGINE = Path(__file__).resolve().parent.parent


class RunFailure(NamedTuple):
    """Why a run did not finish.

    Attributes:
        place: where in a plugin's code it failed; None if elsewhere.
    """

    status: Status
    message: str
    place: Place | None = None


def failure_of(error: BaseException, host: PluginHost) -> RunFailure:
    """Return the failure to record for an exception in a run."""
    return RunFailure(_status(error), _message(error), _place(error, _roots(host)))


def _message(error: BaseException) -> str:
    lines = [f"{type(error).__name__}: {error}"]
    if isinstance(error, FormalbenchError):
        lines = str(error).strip().splitlines()
        lines = [lines[0], lines[-1]] if len(lines) > 1 else lines
    return plain_line(": ".join(lines))


def plain_line(text: str) -> str:
    """Return a text as one line that a record can hold."""
    line = " ".join(text.split())
    line = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)
    return line.encode("utf-8", "backslashreplace").decode()[:MAX_LINE]


def _status(error: BaseException) -> Status:
    from formalbench.evaluation.evaluate import NotFiniteError

    if isinstance(error, NotFiniteError):
        return "diverged"
    return "out-of-memory" if is_out_of_memory(error) else "error"


def _roots(host: PluginHost) -> list[Path]:
    """Return the file or folder of every plugin except formalbench itself."""
    roots = []
    for plugin in host.plugins:
        file = getattr(plugin.module, "__file__", None)
        if plugin.local is not None:
            roots.append(plugin.local.path)
        elif file is not None:
            roots.append(Path(file).resolve().parent)
    return [root for root in roots if root != _ENGINE]


def _place(error: BaseException, roots: Sequence[Path]) -> Place | None:
    """Return the location of the innermost frame in plugin code, and the frames above it."""
    while isinstance(error, BrokenPluginError) and error.__cause__ is not None:
        error = error.__cause__
    frames = [
        (root, frame)
        for frame in traceback.extract_tb(error.__traceback__)
        for root in _owner(frame.filename, roots)
    ]
    if not frames:
        return None
    root, innermost = frames[-1]
    own = [frame for other, frame in frames if other == root]
    return Place(
        file=_relative(innermost.filename, root),
        line=innermost.lineno or 0,
        frames=tuple(
            plain_line(f"{_relative(f.filename, root)}:{f.lineno} in {f.name}: {f.line}")
            for f in own[-MAX_FRAMES:]
        ),
    )


def _owner(filename: str, roots: Sequence[Path]) -> list[Path]:
    file = Path(filename).resolve()
    return [root for root in roots if file.is_relative_to(root)][:1]


def _relative(filename: str, root: Path) -> str:
    file = Path(filename).resolve()
    return file.name if file == root else plain_line(file.relative_to(root).as_posix())


MAX_SUMS = 32
"""Maximum entries of a record's secondary metrics together: a record has 8 KB for 460 lengths."""


MAX_SIZE = 8192
"""Maximum bytes of a record including its learning curve."""


CURVE_SIZE, POINT_SIZE = 64, 32
"""Maximum bytes of a learning curve without points, and of each point."""


Written = tuple[Record, bytes | None]
"""A run's record, and the selected weights if the record names any."""


@dataclass
class RunResult:
    """The result of a run so far.

    Attributes:
        device: ``cpu`` or ``cuda:i``.
        parameters: number of parameters of its network, once that is built.
        network: trained, or as constructed.
        primary: the name of its task's primary metric, once the task is built.
        kept: instead of `trained`, the record of an earlier run that trained it, and its weights.
        saved: the training checkpoint, which is kept until the record is written.
        source: SHA-256 of the code that determines its results, once that is imported.
        packages: versions of the packages that its plugins imported.
    """

    run: Run
    device: str
    status: Status = "finished"
    message: str = ""
    place: Place | None = None
    parameters: int = 0
    network: nn.Module | None = None
    primary: str = ""
    trained: TrainingResult | None = None
    kept: tuple[Record, bytes] | None = None
    tested: TestResult | None = None
    saved: Checkpointer | None = None
    source: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)

    def fail(self, failure: RunFailure) -> None:
        """Note why the run did not finish."""
        self.status, self.message, self.place = failure

    def outcome(self) -> Written:
        """Return the run's record, and its weights if it trained and was tested.

        Raises:
            RequestError: if its weights cannot be serialised; the run has failed.
        """
        if self.kept is not None and self.tested is not None:
            record, weights = self.kept
            return self._record(record.weights, record), weights
        packed = self._weights()
        digest = None if packed is None else hashlib.sha256(packed).hexdigest()
        return self._record(digest), packed

    def _weights(self) -> bytes | None:
        from formalbench.contracts.errors import PLUGIN_FAILURES, RequestError
        from formalbench.store import weights

        if self.tested is None or self.trained is None or self.network is None:
            return None
        try:
            return weights.pack(self.network)
        except PLUGIN_FAILURES as error:
            message = f"{type(error).__name__}: {error}"
            raise RequestError(f"the weights were not saved: {message}") from error

    def _record(self, weights: str | None, earlier: Record | None = None) -> Record:
        """Return the run's record.

        Args:
            weights: SHA-256 of the stored weights.
            earlier: the record of an earlier run that trained it. The record names the machine of
                that run, since the last digits depend on the machine that trained the weights.
        """
        run = self.run
        record = Record(
            schema_version=SCHEMA_VERSION,
            train_id=run.train_id,
            test_id=run.test_id,
            status=self.status,
            message=self.message,
            place=self.place,
            model=run.model.model_copy(update={"parameters": self.parameters}),
            task=run.task,
            protocol=run.protocol,
            learning_rate=run.learning_rate,
            seed=run.seed,
            code=dict(run.code) or None,
            training=earlier.training if earlier else training_of(self.trained),
            selected=earlier.selected if earlier else selected_of(self.trained, self.primary),
            test=self.tested,
            weights=weights,
            environment=earlier.environment
            if earlier
            else describe_environment(self.device, self.source, self.packages),
            command=run.command,
            date=date_now(),
        )
        return _with_curve(record, self.trained.points if self.trained else ())


def training_of(trained: TrainingResult | None) -> Training | None:
    """Return the training section of a record."""
    if trained is None:
        return None
    cohort = tuple(CohortMember(learning_rate=m.learning_rate, seed=m.seed) for m in trained.cohort)
    return Training(
        steps=trained.steps,
        ended=trained.ended,
        stage=trained.stage,
        strings=trained.strings,
        seconds=round(trained.seconds, 3),
        strings_per_second=round(trained.strings / max(trained.seconds, 1e-9), 1),
        history=trained.history,
        cohort=cohort if len(cohort) > 1 else None,
    )


def _with_curve(record: Record, points: Sequence[LearningPoint]) -> Record:
    """Return a record with as many points of a learning curve as fit; the last point is kept."""
    most = min(MOST_POINTS, (MAX_SIZE - len(record.to_json()) - CURVE_SIZE) // POINT_SIZE)
    if record.training is None or not points or most < 1:
        return record
    stride = -(-len(points) // most)
    chosen = points[::-1][::stride][::-1]
    curve = LearningCurve(
        steps=tuple(point.step for point in chosen),
        loss=tuple(float(f"{point.loss:.3g}") for point in chosen),
        error=tuple(round(point.error, 4) for point in chosen),
        accuracy=tuple(
            None if math.isnan(point.accuracy) else round(point.accuracy, 4) for point in chosen
        ),
    )
    training = record.training.model_copy(update={"curve": curve})
    return record.model_copy(update={"training": training})


def selected_of(trained: TrainingResult | None, primary: str) -> SelectedCheckpoint | None:
    """Return the selected checkpoint in the form of a record."""
    best = trained.best if trained else None
    if best is None:
        return None
    main = best.measures[primary]
    return SelectedCheckpoint(
        step=best.step,
        strings=best.strings,
        correct=whole_number(main.total),
        answers=None if main.count == best.strings else main.count,
        metrics=summed({name: one for name, one in best.measures.items() if name != primary}),
    )


def summed(measures: Measures) -> dict[str, MetricSum]:
    """Return measures in the form of a record."""
    return {
        name: MetricSum(total=round(measure.total, 6), count=measure.count)
        for name, measure in measures.items()
    }


def cells_of(
    scores: Sequence[CellScore], primary: str, chances: Callable[[], Sequence[float]] = tuple
) -> Cells:
    """Return a test's results in the form of a record.

    Args:
        scores: one per cell.
        primary: the name of the primary metric.
        chances: returns the metric's chance level in each cell, which is used for cells with a
            logit that is not finite; called only if there are such cells.
    """
    infinite = tuple(index for index, score in enumerate(scores) if not score.finite)
    if infinite:
        scores = [
            score if score.finite else replace(score, measures=_at_chance(score, primary, chance))
            for score, chance in zip(scores, chances(), strict=True)
        ]
    main = [score.measures[primary] for score in scores]
    strings = tuple(score.strings for score in scores)
    answers = tuple(measure.count for measure in main)
    others = merged([score.measures for score in scores]).keys() - {primary}
    # Mutual information is not counted, so that windows are the same as before it was measured.
    entries = max(1, MAX_SUMS // max(1, len(others - {MUTUAL_INFORMATION})))
    window = -(-len(scores) // entries)
    parts = [
        merged([score.measures for score in scores[first : first + window]])
        for first in range(0, len(scores), window)
    ]
    windows = any(score.first != score.last for score in scores)
    groups = tuple(score.group for score in scores)
    return Cells(
        length=tuple(score.last for score in scores),
        first=tuple(score.first for score in scores) if windows else None,
        group=groups if any(groups) else None,
        strings=strings,
        correct=tuple(whole_number(measure.total) for measure in main),
        answers=None if answers == strings else answers,
        metrics={name: _sums(name, parts) for name in sorted(others)},
        window=window,
        not_finite=infinite or None,
    )


def _at_chance(score: CellScore, primary: str, chance: float) -> dict[str, Measure]:
    """Return the measures of a cell that is not finite: chance; no answers for other metrics."""
    answers = score.measures[primary].count
    others = dict.fromkeys(score.measures, Measure(0.0, 0))
    return {**others, primary: Measure(round(chance * answers, 6), answers)}


def _sums(name: str, parts: Sequence[Measures]) -> Sums:
    scale = 1000 if name == CROSS_ENTROPY else 1
    measures = [part[name] for part in parts]
    return Sums(
        total=tuple(_total(name, scale * measure.total) for measure in measures),
        count=tuple(measure.count for measure in measures),
    )


def _total(name: str, total: float) -> int | float:
    if name == CROSS_ENTROPY:
        return round(total)  # in 1/1000 bit
    return whole_number(float(f"{total:.9g}"))
