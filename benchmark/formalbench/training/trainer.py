"""Training a cohort: runs of one model on one task that differ in learning rate and seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.hooks import Progress
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import CellSet, split_lengths, validation_set
from formalbench.evaluation.evaluate import NotFiniteError, evaluate
from formalbench.training.curriculum import draw_length, stages

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Member:
    """One run of a cohort.

    Attributes:
        learning_rate: before the decay.
        seed: decides initial weights and training strings.
        report: told of every evaluation.
    """

    learning_rate: float
    seed: int
    report: Report = lambda progress: None


@dataclass(frozen=True)
class Cohort:
    """Runs of one model on one task under one protocol.

    Attributes:
        build: returns a network with fresh weights from torch's global generator.
        task: what is trained on.
        protocol: how.
        members: the runs.
        device: where.
    """

    build: Callable[[], nn.Module]
    task: Task
    protocol: Protocol
    members: Sequence[Member]
    device: torch.device


@dataclass
class Checkpoint:
    """The weights selected so far, and their score on validation."""

    step: int
    correct: int
    strings: int
    bits: float
    weights: dict[str, Tensor]

    def better_than(self, other: Checkpoint | None) -> bool:
        """Say whether this one has more right answers, or as many and less cross-entropy."""
        return other is None or (self.correct, -self.bits) > (other.correct, -other.bits)


@dataclass
class Trained:
    """What training a run came to.

    Attributes:
        network: with the selected weights.
        status: ``finished`` (it trained to its end), ``diverged`` or ``timeout``.
        ended: what ended it: ``mastered``, ``budget``, or ``stopped`` before either.
        steps: optimiser steps taken.
        stage: the longest length the curriculum had reached when the decay began.
        strings: strings trained on.
        seconds: wall time, validation included.
        best: the selected checkpoint; None if none was validated.
    """

    network: nn.Module
    status: Literal["finished", "diverged", "timeout"] = "finished"
    ended: Literal["mastered", "budget", "stopped"] = "stopped"
    steps: int = 0
    stage: int = 0
    strings: int = 0
    seconds: float = 0.0
    best: Checkpoint | None = None


def train_cohort(cohort: Cohort) -> list[Trained]:
    """Train every run of a cohort; the results are in the order of its members.

    The numbers of a run do not depend on who else is in the cohort.
    """
    validation = validation_set(cohort.task, cohort.protocol)
    return [_RunTraining(cohort, member, validation).run() for member in cohort.members]


@dataclass
class _Tally:
    """Sums since the last evaluation, kept on the device so that no step waits for them."""

    loss: Tensor
    wrong: Tensor
    strings: int = 0

    @classmethod
    def empty(cls, device: torch.device) -> _Tally:
        return cls(torch.zeros((), device=device), torch.zeros((), device=device))


@dataclass
class _RunTraining:
    """The training of one run, step by step."""

    cohort: Cohort
    member: Member
    validation: CellSet
    network: nn.Module = field(init=False)

    def __post_init__(self) -> None:
        protocol = self.cohort.protocol
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.member.seed)
            self.network = self.cohort.build()
        self.network.to(self.cohort.device).train()
        options = protocol.optimiser
        self.optimiser = torch.optim.Adam(
            self.network.parameters(),
            lr=self.member.learning_rate,
            betas=options.betas,
            eps=options.eps,
            weight_decay=options.weight_decay,
            fused=True,
        )
        self.stages = stages(protocol.curriculum, split_lengths(self.cohort.task, "train"))
        self.stage = 0
        self.decay_from: int | None = None
        self.tally = _Tally.empty(self.cohort.device)
        self.accuracy: float | None = None
        self.result = Trained(self.network, stage=self.stages[0][-1])

    def run(self) -> Trained:
        """Train to the end and put the selected weights into the network."""
        start = time.perf_counter()
        try:
            self._train(start)
        except NotFiniteError:
            self.result.status = "diverged"
        self.result.seconds = time.perf_counter() - start
        if self.result.best is not None:
            self.network.load_state_dict(self.result.best.weights)
        return self.result

    def _train(self, start: float) -> None:
        protocol = self.cohort.protocol
        for step in range(protocol.steps):
            if self.decay_from is None and step == protocol.steps - protocol.decay.steps:
                self._begin_decay(step, "budget")
            self._step(step)
            done = step + 1
            last = self.decay_from is not None and done == self.decay_from + protocol.decay.steps
            if done % protocol.evaluate_every == 0 or last:
                self._evaluate(done, last)
                if last:
                    return
                limit = protocol.time_limit
                if limit is not None and time.perf_counter() - start > limit:
                    self.result.status, self.result.ended = "timeout", "stopped"
                    return

    def _step(self, step: int) -> None:
        """Take one optimiser step; nothing is read back from the device."""
        task, protocol = self.cohort.task, self.cohort.protocol
        length = draw_length(protocol, self.stages[self.stage], step)
        stream = task.stream("train", protocol.name, protocol.version, self.member.seed, step)
        strings, targets = task.sample(stream, length, protocol.batch)
        batch = Batch(torch.from_numpy(strings).to(self.cohort.device))
        answers = torch.from_numpy(targets).to(self.cohort.device)
        for group in self.optimiser.param_groups:
            group["lr"] = self.member.learning_rate * self._decay_factor(step)
        logits = self.network(batch)
        loss = task.objective.loss(logits, answers)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if protocol.optimiser.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), protocol.optimiser.gradient_clip)
        self.optimiser.step()
        with torch.no_grad():
            right, _ = task.objective.score(logits.detach(), answers)
            self.tally.loss += loss.detach()
            self.tally.wrong += (~right).sum()
        self.tally.strings += len(strings)
        self.result.steps = step + 1
        self.result.strings += len(strings)

    def _decay_factor(self, step: int) -> float:
        """Return what the learning rate is multiplied by at a step, counted from 0."""
        decay = self.cohort.protocol.decay
        if self.decay_from is None:
            return 1.0
        share = (step - self.decay_from + 1) / decay.steps
        return 1.0 + (decay.final - 1.0) * share

    def _begin_decay(self, step: int, why: Literal["mastered", "budget"]) -> None:
        self.decay_from = step
        self.result.ended = why
        self.result.stage = self.stages[self.stage][-1]
        self.stage = len(self.stages) - 1

    def _evaluate(self, done: int, last: bool) -> None:
        """Judge the run by its own training strings since the last time, and move it on."""
        protocol = self.cohort.protocol
        if not bool(torch.isfinite(self.tally.loss)):
            raise NotFiniteError("the training loss is not finite")
        error = float(self.tally.wrong) / self.tally.strings
        self.tally = _Tally.empty(self.cohort.device)
        if done % protocol.validation.every == 0 or last:
            self._validate(done)
        trained_on = self.stages[self.stage][-1]
        if self.decay_from is None:
            if self.stage == len(self.stages) - 1:
                if error <= protocol.decay.mastered:
                    self._begin_decay(done, "mastered")
            elif error <= protocol.curriculum.error:
                self.stage += 1
        self.member.report(Progress("train", done, trained_on, error, self.accuracy))

    def _validate(self, done: int) -> None:
        cohort = self.cohort
        scores = evaluate(self.network, cohort.task.objective, self.validation, cohort.device)
        strings = sum(score.strings for score in scores)
        correct = sum(score.correct for score in scores)
        bits = sum(score.bits for score in scores) / len(scores)
        self.accuracy = correct / strings
        candidate = Checkpoint(done, correct, strings, bits, {})
        if candidate.better_than(self.result.best):
            weights = self.network.state_dict()
            candidate.weights = {name: value.clone() for name, value in weights.items()}
            self.result.best = candidate
