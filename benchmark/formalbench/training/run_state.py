"""The state of a run during training, and its checkpoints on disk.

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
from formalbench.contracts.objective import Measure

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Member:
    """One run of a cohort.

    Attributes:
        learning_rate: the rate before schedule and decay.
        seed: determines initial weights and training strings.
        report: called at every evaluation.
    """

    learning_rate: float
    seed: int
    report: Report = lambda progress: None


class CurvePoint(NamedTuple):
    """The results of a run on the strings of one length, at one evaluation.

    Attributes:
        correct: the sum of the primary metric.
        answers: number of answers.
        millibits: mean cross-entropy per answer, in 1/1000 bit.
        probes: mean over the strings, by probe and position.
    """

    correct: int | float
    answers: int
    millibits: int
    probes: dict[str, float]


class LearningPoint(NamedTuple):
    """Training and validation results at one validation.

    Attributes:
        step: optimiser steps taken.
        loss: mean training loss since the previous evaluation.
        error: share of training strings answered wrong, over the same interval as `loss`.
        accuracy: the primary metric's mean on validation strings; NaN if there were no answers.
    """

    step: int
    loss: float
    error: float
    accuracy: float


@dataclass
class Checkpoint:
    """Selected weights, and their validation results.

    Attributes:
        step: the step after which they were taken.
        strings: number of validation strings.
        measures: measures over all these strings, by metric.
        preference: the objective's order of checkpoints; greater is better.
        weights: (P,).
    """

    step: int
    strings: int
    measures: dict[str, Measure]
    preference: tuple[float, ...]
    weights: Tensor

    def better_than(self, other: Checkpoint | None) -> bool:
        """Return whether this checkpoint is better; of equal ones the earlier is preferred."""
        return other is None or self.preference > other.preference


@dataclass
class RunState:
    """The full training state of a run.

    Attributes:
        stage: index of the current curriculum stage.
        decay_from: the step at which its decay began; None before.
        fits: whether its training error was small enough for mastery since its last validation.
        status: ``running`` until it ends as ``finished``, ``diverged`` or ``timeout``.
        ended: the reason for its end: ``mastered``, ``budget``, ``capped`` (the protocol's patience
            ran out), or ``stopped`` before any of them.
        message: one line, if it diverged.
        reached: the longest length of the curriculum when the decay began.
        steps: optimiser steps taken, as of its last evaluation.
        strings: number of strings trained on.
        seconds: wall time; for runs that train together, the share of each.
        measures: measures of the latest validation, by metric; empty before the first.
        best: the selected checkpoint; None if none was validated.
        curves: the learning curves of the protocol's `watch` so far, by length.
        points: training and validation results at every validation so far.
        schedule: the memory of the learning-rate schedule.
        parameters: (P,).
        slots: the optimiser's slots, (P,) each, by name.
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
        """The means of its latest validation by their names in progress, without unknown ones."""
        means = {f"validation/{name}": one.mean for name, one in self.measures.items()}
        return {name: mean for name, mean in means.items() if not math.isnan(mean)}


EVERY = 60.0
"""Seconds between two saves, the most that a kill can lose."""

ABANDONED = 30 * DAY
"""Seconds after which a saved cohort is deleted."""


@dataclass
class Checkpointer:
    """Saves a cohort every minute, and restores it.

    Args:
        key: contains everything that determines the cohort's results, except its members.
        members: its runs. Results depend on all of them, so a cohort resumes as a whole.
        records: the files that their records are written to.
    """

    key: str
    members: Sequence[Member]
    records: Sequence[Path] = ()
    saved: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> Path:
        """The file that it is saved in."""
        members = json.dumps(_member_keys(self.members))
        return _folder(self.key) / hashlib.sha256(members.encode()).hexdigest()[:32]

    def due(self) -> bool:
        """Whether the last save is long enough ago."""
        return time.monotonic() - self.saved >= EVERY

    def save(self, runs: Sequence[RunState]) -> None:
        """Save the states of a cohort's runs; a full disk costs only time."""
        head = {"members": _member_keys(self.members), "records": list(map(str, self.records))}
        contents = io.BytesIO()
        contents.write(json.dumps(head).encode() + b"\n")
        torch.save(list(runs), contents)
        write_sealed(self.path, self.key, contents.getvalue())
        self.saved = time.monotonic()

    def restore(self, runs: Sequence[RunState]) -> int:
        """Restore the states of a cohort's runs.

        A file that is missing, damaged, or of other runs, changes nothing.

        Returns:
            The steps that they had done; 0 if nothing was restored.
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
        for run, state in zip(runs, kept, strict=True):
            for part in fields(state):
                setattr(run, part.name, getattr(state, part.name))
        return max(run.steps for run in runs)

    def forget(self) -> None:
        """Delete the file, after the cohort has ended."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
            self.path.parent.rmdir()  # fails if other cohorts with this key are saved there


def saved_cohorts(key: str) -> Iterator[Checkpointer]:
    """Yield the cohorts saved under a key, newest first; delete old abandoned ones."""
    with contextlib.suppress(OSError):
        for folder in (cache_folder() / "training").iterdir():
            prune(folder, ABANDONED)
            with contextlib.suppress(OSError):
                folder.rmdir()  # fails unless it is empty
    folder = _folder(key)
    files = [*folder.iterdir()] if folder.is_dir() else []
    for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
        contents = read_sealed(file, key)
        if contents is not None:
            members = json.loads(contents.partition(b"\n")[0])["members"]
            yield Checkpointer(key, [Member(rate, seed) for rate, seed in members])


def _folder(key: str) -> Path:
    return cache_folder() / "training" / hashlib.sha256(key.encode()).hexdigest()[:32]


def _member_keys(members: Sequence[Member]) -> list[tuple[float, int]]:
    return [(member.learning_rate, member.seed) for member in members]


def _unlike(one: RunState, other: RunState) -> bool:
    """Return whether two states have different networks or optimisers."""
    if list(one.slots) != list(other.slots):
        return True
    pairs = zip(one.rows, other.rows, strict=True)
    return any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in pairs)
