"""How long is left of runs that differ in what they cost: by their steps, lengths and models.

A run is weighed by the symbols it goes through. What one costs of a model is known once a run of it
is done; till then it is that of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.hooks import Progress, RunInfo

if TYPE_CHECKING:
    from formalbench.contracts.record import Record
    from formalbench.host import PluginHost
    from formalbench.running.plan import Run

BACKWARD = 3.0
"""A step's cost, of one that only answers: a gradient costs about twice an answer."""

_ENOUGH = 0.02
"""Share of the work after which something is said though no run is done."""


class Work(NamedTuple):
    """What a run has to do.

    Attributes:
        model: its name with the options set.
        symbols: that it answers for, those of its training `BACKWARD` times.
    """

    model: str
    symbols: float


def work_of(host: PluginHost, runs: Iterable[Run]) -> dict[str, Work]:
    """Return what each run has to do, by its `test_id`; about, as lengths are drawn."""
    return {run.test_id: Work(run.info.model, _symbols(host, run)) for run in runs}


def _symbols(host: PluginHost, run: Run) -> float:
    protocol = run.protocol
    try:
        splits = host.task_entry(run.task.name)[0].spec.splits
    except FormalbenchError:  # the run's record will tell
        return float(run.info.steps)
    own = protocol.splits
    train = (own and own.train) or splits.train
    test = (own and own.test) or splits.test
    asked, every = protocol.test.lengths, math.ceil((test[1] - test[0] + 1) / splits.step)
    lengths = list(asked) if isinstance(asked, tuple) else list(test)
    cells = len(lengths) if isinstance(asked, tuple) else min(every, _whole(asked, every))
    a_step = protocol.batch_tokens or protocol.batch * sum(train) / 2
    trained = BACKWARD * run.info.steps * a_step
    tested = cells * protocol.test.strings * sum(lengths) / len(lengths)
    return float(trained + (tested if protocol.test.tokens is None else protocol.test.tokens))


def _whole(asked: int | str, every: int) -> int:
    return every if asked == "all" else int(asked)


class Remaining:
    """Says how long is left.

    Args:
        work: of the runs to be done, by their `test_id`.
    """

    def __init__(self, work: Mapping[str, Work]) -> None:
        self._left = dict(work)
        self._begun: dict[str, float] = {}
        self._known: dict[str, list[tuple[float, float]]] = {}

    def progressed(self, run: RunInfo, progress: Progress) -> None:
        """Note how far a run is."""
        if run.steps:
            self._begun[run.test_id] = min(progress.step / run.steps, 1.0)

    def finished(self, run: RunInfo, record: Record) -> None:
        """Note what a run took."""
        work = self._left.pop(run.test_id, None)
        self._begun.pop(run.test_id, None)
        seconds = sum(part.seconds for part in (record.training, record.test) if part is not None)
        if work is not None and work.symbols and seconds:
            self._known.setdefault(work.model, []).append((seconds, work.symbols))

    def seconds(self, elapsed: float) -> float | None:
        """Return about how many seconds are left; None while that is not known.

        What is done has taken `elapsed` seconds, however many runs go at a time.
        """
        every = [pair for pairs in self._known.values() for pair in pairs]
        whole = _rate(every) if every else 1.0
        rates = {model: _rate(pairs) for model, pairs in self._known.items()}
        costs = {
            name: one.symbols * rates.get(one.model, whole) for name, one in self._left.items()
        }
        begun = sum(costs[name] * share for name, share in self._begun.items() if name in costs)
        done, left = sum(seconds for seconds, _ in every) + begun, sum(costs.values()) - begun
        if not costs or done <= 0.0 or (not every and done < _ENOUGH * (done + left)):
            return None
        return elapsed * left / done


def _rate(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the seconds that a symbol took."""
    each = list(pairs)
    return sum(seconds for seconds, _ in each) / sum(symbols for _, symbols in each)
