"""What a run is while it trains, saved and restored.

Legend: P parameters of a network.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.serialization import safe_globals

from formalbench.cache import DAY, cache_folder, prune, read_sealed, write_sealed
from formalbench.contracts.hooks import Progress
from formalbench.contracts.metric import Measure

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Member:
    """One run of a cohort.

    Attributes:
        learning_rate: before schedule and decay.
        seed: decides initial weights and training strings.
        report: told of every evaluation.
    """

    learning_rate: float
    seed: int
    report: Report = lambda progress: None


class CurvePoint(NamedTuple):
    """How a run did on the strings of one length, at one time.

    Attributes:
        correct: the primary metric's sum.
        answers: out of how many.
        millibits: mean cross-entropy per answer, in 1/1000 bit.
        probes: by probe and place, the mean over the strings it was read on.
    """

    correct: int | float
    answers: int
    millibits: int
    probes: dict[str, float]


class LearningPoint(NamedTuple):
    """How training and validation went, at one time.

    Attributes:
        step: optimiser steps taken.
        loss: of training, the mean since the evaluation before.
        error: share of training strings answered wrong, over the same interval as `loss`.
        accuracy: the primary metric's mean on validation strings; NaN where nothing was asked.
    """

    step: int
    loss: float
    error: float
    accuracy: float


@dataclass
class Checkpoint:
    """The weights selected so far and what came of their validation.

    Attributes:
        step: after which they were taken.
        strings: of validation.
        measures: of all of them, by metric.
        preference: the objective's; a greater one is better.
        weights: (P,).
    """

    step: int
    strings: int
    measures: dict[str, Measure]
    preference: tuple[float, ...]
    weights: Tensor

    def better_than(self, other: Checkpoint | None) -> bool:
        """Say whether this one is preferred; of equals the earlier one is."""
        return other is None or self.preference > other.preference


@dataclass
class RunState:
    """Where a run stands: all that it has to remember.

    Attributes:
        stage: index of the curriculum's stage it trains on.
        decay_from: the step its decay began at; None before.
        fits: whether its training error was small enough for mastery since its last validation.
        status: ``running`` until it ends as ``finished``, ``diverged`` or ``timeout``.
        ended: what ended it: ``mastered``, ``budget``, ``capped`` (out of its protocol's patience),
            or ``stopped`` before any of them.
        message: one line, if it diverged.
        reached: the longest length the curriculum had reached when the decay began.
        steps: optimiser steps taken, as of its last evaluation.
        strings: strings trained on.
        seconds: wall time; of runs that train together, each one's share.
        measures: of the latest validation, by metric; empty before the first.
        best: the selected checkpoint; None if none was validated.
        curves: what the protocol watches, at every time so far, by length.
        points: how training and validation went, at every validation so far.
        schedule: what the schedule of the learning rate remembers of it.
        parameters: (P,).
        slots: what the optimiser remembers of them, (P,) each, by name.
    """

    stage: int = 0
    decay_from: int | None = None
    fits: bool = False
    status: Literal["running", "finished", "diverged", "timeout"] = "running"
    ended: Literal["mastered", "budget", "capped", "stopped"] = "stopped"
    message: str = ""
    reached: int = 0
    steps: int = 0
    strings: int = 0
    seconds: float = 0.0
    measures: dict[str, Measure] = field(default_factory=dict)
    best: Checkpoint | None = None
    curves: list[tuple[CurvePoint, ...]] = field(default_factory=list)
    points: list[LearningPoint] = field(default_factory=list)
    schedule: dict[str, float] = field(default_factory=dict)
    parameters: Tensor = field(default_factory=lambda: torch.zeros(0))
    slots: dict[str, Tensor] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[Tensor, ...]:
        """Its parameters and slots, which training changes in place."""
        return (self.parameters, *self.slots.values())

    @property
    def validation(self) -> dict[str, float]:
        """The means of its latest validation, as progress has them; those that are known."""
        means = {f"validation/{name}": one.mean for name, one in self.measures.items()}
        return {name: mean for name, mean in means.items() if not math.isnan(mean)}


EVERY = 60.0
"""Seconds between two savings: what a kill can cost."""

ABANDONED = 30 * DAY
"""Seconds after which nobody will ask for a cohort again."""


@dataclass
class Checkpointer:
    """Saves a cohort every minute, and finds it again.

    Args:
        key: names all that decides the cohort's numbers, but for its members.
        members: its runs. Numbers depend on all of them: what goes on, goes on with them.
        records: the files that their records are written to.
    """

    key: str
    members: Sequence[Member]
    records: Sequence[Path] = ()
    saved: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> Path:
        """Where it is saved."""
        members = json.dumps(_told(self.members))
        return _folder(self.key) / hashlib.sha256(members.encode()).hexdigest()[:32]

    def due(self) -> bool:
        """Say whether the last saving is long enough ago."""
        return time.monotonic() - self.saved >= EVERY

    def save(self, runs: Sequence[RunState]) -> None:
        """Write where the runs of a cohort stand; a full disk costs time only."""
        head = {"members": _told(self.members), "records": list(map(str, self.records))}
        contents = io.BytesIO()
        contents.write(json.dumps(head).encode() + b"\n")
        torch.save(list(runs), contents)
        write_sealed(self.path, self.key, contents.getvalue())
        self.saved = time.monotonic()

    def restore(self, runs: Sequence[RunState]) -> int:
        """Put the runs of a cohort back to where they were saved.

        A file that is not there, damaged, or of other runs, changes nothing.

        Returns:
            The steps they had done; 0 if nothing was found.
        """
        device = runs[0].parameters.device
        contents = read_sealed(self.path, self.key)
        if contents is None:
            return 0
        packed = io.BytesIO(contents.partition(b"\n")[2])
        try:
            with safe_globals([type(runs[0]), Checkpoint, CurvePoint, LearningPoint, Measure]):
                kept: list[RunState] = torch.load(packed, map_location=device, weights_only=True)
        except (pickle.UnpicklingError, RuntimeError):
            return 0
        if len(kept) != len(runs) or any(map(_unlike, kept, runs)):
            return 0
        for run, one in zip(runs, kept, strict=True):
            for part in fields(one):
                setattr(run, part.name, getattr(one, part.name))
        return max(run.steps for run in runs)

    def forget(self) -> None:
        """Delete the file: the cohort is through."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
            self.path.parent.rmdir()  # unless other cohorts of the kind are saved there


def saved_cohorts(key: str) -> Iterator[Checkpointer]:
    """Find the cohorts that are saved under a key, the last first; those abandoned long ago go."""
    with contextlib.suppress(OSError):
        for folder in (cache_folder() / "training").iterdir():
            prune(folder, ABANDONED)
            with contextlib.suppress(OSError):
                folder.rmdir()  # if it is empty
    folder = _folder(key)
    files = [*folder.iterdir()] if folder.is_dir() else []
    for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
        contents = read_sealed(file, key)
        if contents is not None:
            told = json.loads(contents.partition(b"\n")[0])["members"]
            yield Checkpointer(key, [Member(rate, seed) for rate, seed in told])


def _folder(key: str) -> Path:
    return cache_folder() / "training" / hashlib.sha256(key.encode()).hexdigest()[:32]


def _told(members: Sequence[Member]) -> list[tuple[float, int]]:
    return [(member.learning_rate, member.seed) for member in members]


def _unlike(one: RunState, other: RunState) -> bool:
    """Say whether two states are not of the same network and optimiser."""
    if list(one.slots) != list(other.slots):
        return True
    pairs = zip(one.rows, other.rows, strict=True)
    return any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in pairs)
