"""Training a cohort: runs of one model on one task that differ in learning rate and seed.

The loop goes from evaluation to evaluation. In between, the runs at one stage of the
curriculum train as one program, and the host reads nothing from the device; at an evaluation
each run is judged by itself, moves on or ends, and the programs form anew. The numbers of a
run do not depend on who else is in the cohort.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.protocol import Protocol
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import split_lengths, validation_set
from formalbench.evaluation.evaluate import NotFiniteError, evaluate
from formalbench.training.control import Checkpoint, Member, RunControl
from formalbench.training.curriculum import draw_length, stages
from formalbench.training.optimiser import State, adam
from formalbench.training.programs import Program, choose_program


@dataclass(frozen=True)
class Cohort:
    """Runs of one model on one task under one protocol.

    Attributes:
        build: returns a network with fresh weights from torch's global generator.
        task: what is trained on.
        protocol: how.
        members: the runs.
        device: where.
        program: chooses how gradients are computed.
    """

    build: Callable[[], nn.Module]
    task: Task
    protocol: Protocol
    members: Sequence[Member]
    device: torch.device
    program: Callable[..., Program] = choose_program


@dataclass(frozen=True)
class Trained:
    """What training a run came to.

    Attributes:
        network: with the selected weights.
        status: ``finished`` (it trained to its end), ``diverged`` or ``timeout``.
        ended: what ended it: ``mastered``, ``budget``, or ``stopped`` before either.
        steps: optimiser steps taken.
        stage: the longest length the curriculum had reached when the decay began.
        strings: strings trained on.
        seconds: wall time, validation included; of runs that train together, each one's
            share of the cohort's.
        best: the selected checkpoint; None if none was validated.
    """

    network: nn.Module
    status: Literal["finished", "diverged", "timeout"]
    ended: Literal["mastered", "budget", "stopped"]
    steps: int
    stage: int
    strings: int
    seconds: float
    best: Checkpoint | None


def train_cohort(cohort: Cohort) -> list[Trained]:
    """Train every run of a cohort; the results are in the order of its members."""
    devices = [cohort.device] if cohort.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # the caller's random numbers stay its own
        return _CohortTraining(cohort).run()


class Tally(NamedTuple):
    """Sums since the last evaluation, kept on the device so that no step waits for them.

    Attributes:
        losses: training losses, (R,).
        wrong: strings answered wrong, (R,).
    """

    losses: Tensor
    wrong: Tensor


class _CohortTraining:
    """The training of a cohort.

    Legend: R runs, B strings, N symbols.
    """

    def __init__(self, cohort: Cohort) -> None:
        self.cohort = cohort
        self.networks = [self._fresh(member.seed) for member in cohort.members]
        self.program = cohort.program(self.networks, cohort.task.objective, cohort.device)
        self.layout = self.program.layout
        self.state = State.start(self.layout.stack(self.networks))
        lengths = stages(cohort.protocol.curriculum, split_lengths(cohort.task, "train"))
        self.controls = [RunControl(m, cohort.protocol, lengths) for m in cohort.members]
        self.seconds = [0.0] * len(cohort.members)
        self.validation = validation_set(cohort.task, cohort.protocol)

    def _fresh(self, seed: int) -> nn.Module:
        # On the CPU whatever the device, so that a seed means the same weights everywhere.
        torch.manual_seed(seed)
        network = self.cohort.build()
        return network.to(self.cohort.device).train()

    def run(self) -> list[Trained]:
        """Train every run to its end."""
        done, every = 0, self.cohort.protocol.evaluate_every
        while running := [i for i, c in enumerate(self.controls) if c.status == "running"]:
            for i in running:
                self.controls[i].begin_interval(done)
            for runs in self._groups(running):
                start = time.perf_counter()
                tally = self._train(runs, done)
                self._evaluate(runs, done + every, tally)
                share = (time.perf_counter() - start) / len(runs)
                for i in runs:
                    self.seconds[i] += share
                    self.controls[i].check_time(self.seconds[i])
            done += every
        return [self._result(i) for i in range(len(self.controls))]

    def _groups(self, running: Sequence[int]) -> list[list[int]]:
        """Return the runs that train on strings of one length: those at one stage."""
        groups: dict[int, list[int]] = {}
        for i in running:
            groups.setdefault(self.controls[i].stage, []).append(i)
        return list(groups.values())

    def _train(self, runs: Sequence[int], done: int) -> Tally:
        """Take the steps up to the next evaluation; nothing is read back from the device."""
        protocol, device = self.cohort.protocol, self.cohort.device
        rows = torch.as_tensor(runs, device=device)
        state = self.state.take(rows)
        stage = self.controls[runs[0]].lengths
        loss_R = torch.zeros(len(runs), device=device)
        wrong_R = torch.zeros(len(runs), device=device)
        for step in range(done, done + protocol.evaluate_every):
            symbols_RBN, targets = self._strings(runs, draw_length(protocol, stage, step), step)
            noise = [1_000_003 * (self.controls[i].member.seed + 1) + step for i in runs]
            result = self.program.gradients(runs, state.parameters, symbols_RBN, targets, noise)
            rates = [[self.controls[i].rate(step)] for i in runs]
            rate_R1 = torch.tensor(rates, dtype=state.parameters.dtype).to(device)
            adam(state, result.gradients, rate_R1, step, protocol.optimiser)
            loss_R += result.losses
            wrong_R += result.wrong
        self.state.put(rows, state)
        return Tally(loss_R, wrong_R)

    def _strings(self, runs: Sequence[int], length: int, step: int) -> tuple[Tensor, Tensor]:
        """Draw a step's strings (R, B, N) and targets; runs of one seed share theirs."""
        task, protocol = self.cohort.task, self.cohort.protocol
        seeds = [self.controls[i].member.seed for i in runs]
        drawn: dict[int, tuple[Tensor, Tensor]] = {}
        for seed in seeds:
            if seed not in drawn:
                stream = task.stream("train", protocol.name, protocol.version, seed, step)
                strings, targets = task.sample(stream, length, protocol.batch)
                drawn[seed] = torch.from_numpy(strings), torch.from_numpy(targets)
        symbols_RBN = torch.stack([drawn[seed][0] for seed in seeds])
        stacked = torch.stack([drawn[seed][1] for seed in seeds])
        return symbols_RBN.to(self.cohort.device), stacked.to(self.cohort.device)

    def _evaluate(self, runs: Sequence[int], done: int, tally: Tally) -> None:
        """Judge each run by its own training strings since the last time, and move it on."""
        protocol = self.cohort.protocol
        strings = protocol.batch * protocol.evaluate_every
        for i, loss, missed in zip(runs, *(sums.tolist() for sums in tally), strict=True):
            control = self.controls[i]
            try:
                if math.isfinite(loss) and control.validates(done):
                    self._validate(i, done)
                control.judge(done, loss, missed / strings)
            except NotFiniteError:
                control.diverge(done)

    def _validate(self, i: int, done: int) -> None:
        cohort, control = self.cohort, self.controls[i]
        flat_P = self.state.parameters[i]
        self.layout.load(self.networks[i], flat_P)
        scores = evaluate(self.networks[i], cohort.task.objective, self.validation, cohort.device)
        strings = sum(score.strings for score in scores)
        correct = sum(score.correct for score in scores)
        bits = sum(score.bits for score in scores) / len(scores)
        control.accuracy = correct / strings
        candidate = Checkpoint(done, correct, strings, bits, flat_P)
        if candidate.better_than(control.best):
            candidate.weights = flat_P.clone()
            control.best = candidate

    def _result(self, i: int) -> Trained:
        control = self.controls[i]
        weights = control.best.weights if control.best else self.state.parameters[i]
        self.layout.load(self.networks[i], weights)
        assert control.status != "running"
        return Trained(
            network=self.networks[i],
            status=control.status,
            ended=control.ended,
            steps=control.steps,
            stage=control.reached,
            strings=control.steps * self.cohort.protocol.batch,
            seconds=self.seconds[i],
            best=control.best,
        )
