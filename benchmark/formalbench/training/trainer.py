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
from typing import Literal

import torch
from torch import nn

from formalbench.contracts.closes import closes_of
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import History
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import split_lengths, validation_set
from formalbench.evaluation.evaluate import NotFiniteError, evaluate, total
from formalbench.precision import multiplying
from formalbench.training.control import Checkpoint, Member, RunControl
from formalbench.training.curriculum import draw_length, length_weights, stages
from formalbench.training.graphs import GraphedGroup
from formalbench.training.optimiser import State
from formalbench.training.programs import Program, Together, choose_program
from formalbench.training.resume import Keeper
from formalbench.training.step import Group, StepInputs, schedule
from formalbench.training.strings import Interval, Strings
from formalbench.training.watch import make_watcher


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
        keeper: saves it now and then, to go on after a kill; None to keep nothing.
    """

    build: Callable[[], nn.Module]
    task: Task
    protocol: Protocol
    members: Sequence[Member]
    device: torch.device
    program: Callable[..., Program] = choose_program
    keeper: Keeper | None = None


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
        history: curves over the steps, as far as it came; None if nothing was watched.
        cohort: the runs that trained as one program, this one among them; empty if it trained
            alone.
    """

    network: nn.Module
    status: Literal["finished", "diverged", "timeout"]
    ended: Literal["mastered", "budget", "stopped"]
    steps: int
    stage: int
    strings: int
    seconds: float
    best: Checkpoint | None
    history: History | None = None
    cohort: Sequence[Member] = ()


def train_cohort(cohort: Cohort) -> list[Trained]:
    """Train every run of a cohort; the results are in the order of its members."""
    devices = [cohort.device] if cohort.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # the caller's random numbers stay its own
        training = _CohortTraining(cohort)
        try:
            with multiplying(cohort.protocol.precision):
                return training.run()
        finally:
            training.strings.close()


class _CohortTraining:
    """The training of a cohort.

    Legend: R runs, B strings, N symbols.
    """

    def __init__(self, cohort: Cohort) -> None:
        self.cohort = cohort
        self.networks = [self._fresh(member.seed) for member in cohort.members]
        self.program = cohort.program(self.networks, cohort.task.objective, cohort.device)
        self.program.precision = cohort.protocol.precision
        self.layout = self.program.layout
        self.strings = Strings(cohort.task, cohort.protocol, cohort.device)
        self.groups: dict[tuple[int, ...], Group] = {}
        self.state = State.start(self.layout.stack(self.networks))
        lengths = stages(cohort.protocol.curriculum, split_lengths(cohort.task, "train"))
        self.controls = [RunControl(m, cohort.protocol, lengths) for m in cohort.members]
        self.weights = length_weights(cohort.task, cohort.protocol, lengths[-1])
        self.seconds = [0.0] * len(cohort.members)
        self.validation = validation_set(cohort.task, cohort.protocol)
        self.watcher = make_watcher(cohort.task, cohort.protocol, cohort.device)

    def _fresh(self, seed: int) -> nn.Module:
        # On the CPU whatever the device, so that a seed means the same weights everywhere.
        torch.manual_seed(seed)
        network = self.cohort.build()
        return network.to(self.cohort.device).train()

    def run(self) -> list[Trained]:
        """Train every run to its end."""
        every, keeper = self.cohort.protocol.evaluate_every, self.cohort.keeper
        done = keeper.restore(self.state, self.controls, self.seconds) if keeper else 0
        while running := [i for i, c in enumerate(self.controls) if c.status == "running"]:
            for i in running:
                self.controls[i].begin_interval(done)
            together = self._together(running)
            # A group whose runs have parted, and what was recorded of it, is of no more use.
            self.groups = {runs: g for runs, g in self.groups.items() if runs in together}
            for runs in together:
                start = time.perf_counter()
                group = self._train(runs, done)
                self._evaluate(group, done + every)
                share = (time.perf_counter() - start) / len(runs)
                for i in runs:
                    self.seconds[i] += share
                    self.controls[i].check_time(self.seconds[i])
            done += every
            if keeper and keeper.due():
                keeper.save(done, self.state, self.controls, self.seconds)
        return [self._result(i) for i in range(len(self.controls))]

    def _together(self, running: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the runs that train on strings of one length: those at one stage."""
        stages: dict[int, list[int]] = {}
        for i in running:
            stages.setdefault(self.controls[i].stage, []).append(i)
        return [tuple(runs) for runs in stages.values()]

    def _train(self, runs: tuple[int, ...], done: int) -> Group:
        """Take the steps up to the next evaluation; nothing is read back from the device."""
        protocol = self.cohort.protocol
        steps = range(done, done + protocol.evaluate_every)
        rows = torch.tensor(runs, device=self.cohort.device)
        group = self._group(runs, self.state.take(rows))
        rates = [[self.controls[i].rate(step) for i in runs] for step in steps]
        schedules = schedule(rates, done, protocol.optimiser, group.state.parameters)
        strings = self.strings.take(self._interval(runs, done))
        self.strings.draw_ahead(self._interval(runs, done + protocol.evaluate_every))
        seeds = [self.controls[i].member.seed for i in runs]
        distinct = sorted(set(seeds))
        own = torch.tensor([distinct.index(seed) for seed in seeds], device=self.cohort.device)
        for step, drawn, *scales in zip(steps, strings, *schedules, strict=True):
            noise = [1_000_003 * (seed + 1) + step for seed in seeds]
            symbols_RBN, targets = (tensor[own] for tensor in drawn)
            group.step(StepInputs(symbols_RBN, targets, *scales), noise)
        self.state.put(rows, group.state)
        return group

    def _group(self, runs: tuple[int, ...], state: State) -> Group:
        if runs not in self.groups:
            kind = GraphedGroup if self._recorded else Group
            self.groups[runs] = kind(runs, self.program, state, self.cohort.protocol.optimiser)
        self.groups[runs].begin(state)
        return self.groups[runs]

    @property
    def _recorded(self) -> bool:
        """Whether steps become CUDA graphs: not those of networks that draw numbers."""
        return self.cohort.device.type == "cuda" and isinstance(self.program, Together)

    def _interval(self, runs: Sequence[int], first: int) -> Interval:
        """Return what an interval's strings depend on, if these runs stay at their stage."""
        protocol, stage = self.cohort.protocol, self.controls[runs[0]].lengths
        steps = range(first, first + protocol.evaluate_every)
        lengths = tuple(draw_length(protocol, stage, step, self.weights) for step in steps)
        seeds = sorted({self.controls[i].member.seed for i in runs})
        return Interval(first, lengths, tuple(seeds))

    def _evaluate(self, group: Group, done: int) -> None:
        """Judge each run by its own training strings since the last time, and move it on."""
        protocol = self.cohort.protocol
        lengths = self._interval(group.runs, done - protocol.evaluate_every).lengths
        strings = sum(map(protocol.strings_at, lengths))
        sums = (group.losses.tolist(), group.wrong.tolist())
        for i, loss, missed in zip(group.runs, *sums, strict=True):
            control = self.controls[i]
            try:
                if math.isfinite(loss) and control.validates(done):
                    self._validate(i, done)
                if math.isfinite(loss) and self.watcher and control.watched(done):
                    self.layout.load(self.networks[i], self.state.parameters[i])
                    control.seen.append(self.watcher.look(self.networks[i]))
                control.strings += strings
                control.judge(done, loss, missed / strings)
            except NotFiniteError:
                control.diverge(done)

    def _validate(self, i: int, done: int) -> None:
        cohort, control = self.cohort, self.controls[i]
        flat_P = self.state.parameters[i]
        self.layout.load(self.networks[i], flat_P)
        scores = evaluate(
            self.networks[i],
            cohort.task.objective,
            self.validation,
            cohort.device,
            precision=cohort.protocol.precision,
        )
        score = total(scores, self.validation.window)
        control.accuracy = score.correct / score.strings
        candidate = Checkpoint(
            done, score.correct, score.strings, score.bits, flat_P, closes_of(score.close_brackets)
        )
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
            strings=control.strings,
            seconds=self.seconds[i],
            best=control.best,
            history=self.watcher.history(control.seen) if self.watcher else None,
            cohort=self.cohort.members if isinstance(self.program, Together) else (),
        )
