"""Train a cohort from evaluation to evaluation, within the available memory.

A `ResolvedProtocol` holds the parts of the protocol that plugins provide. Between two evaluations,
runs with batches of the same lengths (the runs of one seed at one stage of the curriculum) train as
one program, and the host reads nothing from the device. At an evaluation, each run is judged
separately and continues or ends, and runs are grouped into programs again. The results of a run do
not depend on the other runs of the cohort.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

from formalbench.contracts.hooks import Progress
from formalbench.contracts.protocol import Options, Protocol
from formalbench.contracts.record import History
from formalbench.contracts.task import Task
from formalbench.contracts.training import Optimiser, Penalty, Sampler, Schedule, WeightedPenalty
from formalbench.device import multiplying
from formalbench.evaluation.cells import split_lengths
from formalbench.evaluation.evaluate import NotFiniteError
from formalbench.host.host import call, load
from formalbench.host.options import make_config
from formalbench.training.curriculum import (
    Interval,
    TrainingData,
    TrainingSchedule,
    draw_length,
    stages_of,
    weights_of,
)
from formalbench.training.gradients import BatchedGradients, Program, choose_program
from formalbench.training.parameters import (
    Rows,
    check_buffers,
    kept_buffers,
    make_update,
    numbers_of_steps,
)
from formalbench.training.run_state import Checkpoint, Checkpointer, LearningPoint, Member, RunState
from formalbench.training.step import GraphedGroup, Group, StepInputs
from formalbench.training.validation import CurveRecorder, Read, Validator

if TYPE_CHECKING:
    from formalbench.host import PluginHost


@dataclass(frozen=True)
class ResolvedProtocol:
    """The resolved parts of a protocol.

    Attributes:
        probes: the functions that `watch` reads, by name.
    """

    optimiser: Optimiser
    schedule: Schedule
    sampler: Sampler
    penalties: Sequence[WeightedPenalty] = ()
    probes: Mapping[str, Read] = field(default_factory=dict)


def resolve_protocol(host: PluginHost, protocol: Protocol) -> ResolvedProtocol:
    """Look up the parts that a protocol names."""
    names = protocol.watch.probes if protocol.watch else ()
    return ResolvedProtocol(
        _make(host, host.optimisers, protocol.optimiser.name, protocol.optimiser, Optimiser),
        _make(host, host.schedules, protocol.schedule.name, protocol.schedule, Schedule),
        _make(host, host.samplers, protocol.curriculum.kind, protocol.curriculum, Sampler),
        [
            WeightedPenalty(name, weight, _make(host, host.penalties, name, None, Penalty))
            for name, weight in (protocol.penalties or {}).items()
        ],
        {name: _load_probe(host, name) for name in names},
    )


def _make(host: PluginHost, registry: Any, name: str, choice: Options | None, kind: type) -> Any:
    entry, _ = registry.get(name)
    what = f"{registry.kind} {name}"
    with host.blaming(entry.plugin):
        config = make_config(entry.spec, choice.options, what) if choice else None
        part = call(entry.spec.factory, config)
        if not isinstance(part, kind):
            raise TypeError(f"the factory of {what} gave a {type(part).__name__}")
    return part


def _load_probe(host: PluginHost, name: str) -> Read:
    entry, _ = host.probes.get(name)
    with host.blaming(entry.plugin):
        read: Read = load(entry.spec.factory)
    return read


@dataclass(frozen=True)
class Cohort:
    """Runs of one model on one task under one protocol.

    Attributes:
        build: returns a network with fresh weights from torch's global generator.
        program: chooses how gradients are computed.
        checkpointer: saves the cohort regularly, to resume after a kill; None to save nothing.
        ready: networks that were built before, with fresh weights, by seed; each is used once.
    """

    build: Callable[[], nn.Module]
    task: Task
    protocol: Protocol
    members: Sequence[Member]
    device: torch.device
    resolved: ResolvedProtocol
    program: Callable[..., Program] = choose_program
    checkpointer: Checkpointer | None = None
    ready: dict[int, nn.Module] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingResult:
    """The result of training a run.

    Attributes:
        network: the network with the selected weights.
        status: ``finished`` (training was completed), ``diverged`` or ``timeout``.
        ended: the reason for its end: ``mastered``, ``budget``, ``capped`` (the protocol's patience
            ran out), or ``stopped`` before any of them.
        message: why it diverged; otherwise empty.
        steps: optimiser steps taken.
        stage: the longest length of the curriculum when the decay began.
        strings: number of strings trained on.
        seconds: wall time including validation; for runs that train together, the share of each.
        best: the selected checkpoint; None if none was validated.
        history: learning curves up to its last step; None if the protocol records none.
        cohort: the runs that trained as one program, including this one; empty if it trained alone.
        points: training and validation results at every validation.
    """

    network: nn.Module
    status: Literal["finished", "diverged", "timeout"]
    ended: Literal["mastered", "budget", "capped", "stopped"]
    message: str
    steps: int
    stage: int
    strings: int
    seconds: float
    best: Checkpoint | None
    history: History | None = None
    cohort: Sequence[Member] = ()
    points: Sequence[LearningPoint] = ()


def train_cohort(cohort: Cohort) -> list[TrainingResult]:
    """Train every run of a cohort; the results are in the order of its members."""
    devices = [cohort.device] if cohort.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # keep the caller's random state
        training = _CohortTraining(cohort)
        try:
            with multiplying(cohort.protocol.precision):
                return training.run()
        finally:
            training.data.close()


def build_seeded(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Build a network with the weights of a seed."""
    # On the CPU for every device, so that a seed gives the same weights everywhere.
    torch.manual_seed(seed)
    return build()


class _CohortTraining:
    """The training of a cohort.

    Legend: R runs, B strings, N symbols.
    """

    def __init__(self, cohort: Cohort) -> None:
        task, protocol, device = cohort.task, cohort.protocol, cohort.device
        self.cohort = cohort
        self.networks = [self._build(member.seed) for member in cohort.members]
        self.buffers = [kept_buffers(network) for network in self.networks]
        self.program = cohort.program(self.networks, task, device)
        self.program.precision = protocol.precision
        self.program.penalties = cohort.resolved.penalties
        self.layout = self.program.layout
        self.sampler = cohort.resolved.sampler
        self.data = TrainingData(task, protocol, device, self.sampler)
        optimiser, clip = cohort.resolved.optimiser, protocol.optimiser.gradient_clip
        self.update = make_update(optimiser, clip, self.networks[0])
        self.groups: dict[tuple[int, ...], Group] = {}
        lengths = split_lengths(task, "train")
        stages = stages_of(self.sampler, protocol, lengths)
        schedule, primary = cohort.resolved.schedule, task.primary.name
        self.schedule = TrainingSchedule(protocol, stages, schedule, primary, self.sampler)
        self.weights = weights_of(self.sampler, task, protocol, lengths)
        self.runs = [self._start(network) for network in self.networks]
        self.validator = Validator(task, protocol, device)
        watch, probes = protocol.watch, cohort.resolved.probes
        self.watcher = CurveRecorder(task, protocol, watch, device, probes) if watch else None

    def _build(self, seed: int) -> nn.Module:
        network = self.cohort.ready.pop(seed, None) or build_seeded(self.cohort.build, seed)
        return network.to(self.cohort.device).train()

    def _start(self, network: nn.Module) -> RunState:
        rows = Rows.start(self.layout.stack([network]), self.update.optimiser)
        names = self.update.optimiser.slots
        return RunState(
            reached=self.schedule.stages[0][-1],
            parameters=rows.parameters[0],
            slots={name: slot[0] for name, slot in zip(names, rows.slots, strict=True)},
        )

    def run(self) -> list[TrainingResult]:
        """Train every run to its end."""
        every, checkpointer = self.cohort.protocol.evaluate_every, self.cohort.checkpointer
        done = checkpointer.restore(self.runs) if checkpointer else 0
        while running := [i for i, run in enumerate(self.runs) if run.status == "running"]:
            for i in running:
                self.schedule.begin_interval(self.runs[i], done)
            groups = self._together(running)
            # Groups whose runs have separated, and their recordings, are dropped.
            self.groups = {runs: g for runs, g in self.groups.items() if runs in groups}
            for indices in groups:
                start = time.perf_counter()
                group, interval = self._train(indices, done)
                self._evaluate(group, interval, done + every, start)
                share = (time.perf_counter() - start) / len(indices)
                for i in indices:
                    self.runs[i].seconds += share
                    self.schedule.check_time(self.runs[i])
            done += every
            if checkpointer and checkpointer.due():
                checkpointer.save(self.runs)
        if checkpointer and len(self.runs) > 1:
            # After a kill between two records of a cohort, the others must not train without it.
            checkpointer.save(self.runs)
        return [self._result(i) for i in range(len(self.runs))]

    def _together(self, running: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the runs that train on batches of the same lengths."""
        groups: dict[tuple[int, int | None], list[int]] = {}
        for i in running:
            groups.setdefault((self.runs[i].stage, self._lengths_of(i)), []).append(i)
        return [tuple(indices) for indices in groups.values()]

    def _lengths_of(self, i: int) -> int | None:
        """Return the seed that a run's batch lengths depend on; None if they depend on no seed."""
        return None if self.cohort.protocol.shared_lengths else self.cohort.members[i].seed

    def _train(self, indices: tuple[int, ...], done: int) -> tuple[Group, Interval]:
        """Take the steps up to the next evaluation; nothing is read back from the device.

        Returns:
            The runs as a group, and the interval that each has trained on.
        """
        every, device = self.cohort.protocol.evaluate_every, self.cohort.device
        steps = range(done, done + every)
        group = self._group(indices)
        numbers = numbers_of_steps(
            [[self._rate(i, step) for i in indices] for step in steps],
            done,
            self.update.optimiser,
            group.rows.parameters,
        )
        interval = self._interval(indices, done)
        batches = self.data.take(interval)
        if self.data.ahead:
            self.data.draw_ahead(self._interval(indices, done + every))
        seeds = [self.cohort.members[i].seed for i in indices]
        distinct = sorted(set(seeds))
        index = torch.tensor([distinct.index(seed) for seed in seeds], device=device)
        states = [self.runs[i].rows for i in indices]
        group.begin(states)
        for step, examples, (rate, scalars) in zip(steps, batches, numbers, strict=True):
            noise = [1_000_003 * (seed + 1) + step for seed in seeds]
            per_run = tuple(one.map(lambda part: part[index]) for one in examples)
            group.step(StepInputs(per_run, rate, scalars), noise)
        group.finish(states)
        return group, interval

    def _rate(self, i: int, step: int) -> float:
        return self.schedule.rate(self.runs[i], self.cohort.members[i].learning_rate, step)

    def _group(self, indices: tuple[int, ...]) -> Group:
        if indices not in self.groups:
            on_gpu = self.cohort.device.type == "cuda"
            kind = GraphedGroup if on_gpu and isinstance(self.program, BatchedGradients) else Group
            pairs = zip(*(self.runs[i].rows for i in indices), strict=True)
            parameters, *slots = map(torch.stack, pairs)
            rows = Rows(parameters, tuple(slots))
            self.groups[indices] = kind(indices, self.program, rows, self.update)
        return self.groups[indices]

    def _interval(self, indices: Sequence[int], first: int) -> Interval:
        """Return the interval after `first`, for runs that stay at their stage."""
        protocol, stage = self.cohort.protocol, self.schedule.lengths(self.runs[indices[0]], first)
        batches = range(
            first * protocol.accumulate, (first + protocol.evaluate_every) * protocol.accumulate
        )
        seed = self._lengths_of(indices[0])
        lengths = [
            draw_length(protocol, stage, batch, self.weights, seed, self.sampler)
            for batch in batches
        ]
        seeds = sorted({self.cohort.members[i].seed for i in indices})
        pairs = tuple((length, protocol.strings_at(length)) for length in lengths)
        return Interval(first, pairs, tuple(seeds))

    def _evaluate(self, group: Group, interval: Interval, done: int, start: float) -> None:
        """Judge each run by its training strings since the last evaluation, and update it."""
        every = self.cohort.protocol.evaluate_every
        sums = (group.losses.tolist(), group.wrong.tolist())
        speed = interval.tokens / (time.perf_counter() - start)  # after the device has finished
        for i, loss, wrong in zip(group.runs, *sums, strict=True):
            run = self.runs[i]
            training = {"train/loss": loss / every, "train/error": wrong / interval.strings}
            try:
                validated = math.isfinite(loss) and self.schedule.validates(run, done)
                if validated:
                    self._validate(i, done)
                if math.isfinite(loss) and self.watcher and self.schedule.watched(done):
                    self.layout.load(self.networks[i], run.parameters)
                    run.curves.append(self.watcher.look(self.networks[i]))
                run.strings += interval.strings
                self._update_run(i, done, training, validated, speed)
            except NotFiniteError as error:
                self.schedule.diverge(run, done, str(error))

    def _update_run(
        self, i: int, done: int, training: dict[str, float], validated: bool, speed: float
    ) -> None:
        """Update a run after an evaluation, and report its progress."""
        run = self.runs[i]
        stage = self.schedule.stages[run.stage][-1]
        validation = run.validation
        if validated:
            accuracy = run.measures[self.cohort.task.primary.name].mean
            point = LearningPoint(done, training["train/loss"], training["train/error"], accuracy)
            run.points.append(point)
        self.schedule.judge(run, done, training | (validation if validated else {}))
        if run.status != "diverged":
            metrics = {**training, "train/tokens-per-second": speed, **validation}
            self.cohort.members[i].report(Progress("train", done, stage, metrics))

    def _validate(self, i: int, done: int) -> None:
        run, network = self.runs[i], self.networks[i]
        self.layout.load(network, run.parameters)
        if run.best is None:
            check_buffers(network, self.buffers[i])
        candidate = self.validator.score(network, done, run.parameters)
        run.measures = candidate.measures
        if candidate.better_than(run.best):
            run.best = replace(candidate, weights=run.parameters.clone())

    def _result(self, i: int) -> TrainingResult:
        run = self.runs[i]
        weights = run.best.weights if run.best else run.parameters
        self.layout.load(self.networks[i], weights)
        assert run.status != "running"
        return TrainingResult(
            network=self.networks[i],
            status=run.status,
            ended=run.ended,
            message=run.message,
            steps=run.steps,
            stage=run.reached,
            strings=run.strings,
            seconds=run.seconds,
            best=run.best,
            history=self.watcher.history(run.curves) if self.watcher else None,
            cohort=self.cohort.members if isinstance(self.program, BatchedGradients) else (),
            points=run.points,
        )


SHARE = 0.5
"""Share of the free memory to plan with; recorded steps and fragmentation take the rest."""


def runs_that_fit(cohort: Cohort) -> int:
    """Return the number of runs that fit in memory together, from the memory of one run's step.

    The step has the longest training length. On a CPU all runs fit, and nothing is measured.
    """
    if cohort.device.type != "cuda":
        return len(cohort.members)
    free, _ = torch.cuda.mem_get_info(cohort.device)
    needed = peak_of(lambda: longest_step(cohort), cohort.device)
    return max(1, min(len(cohort.members), int(SHARE * free / max(needed, 1))))


def longest_step(cohort: Cohort) -> None:
    """Compute the gradients of one run at the longest training length."""
    networks = [cohort.build().to(cohort.device).train()]
    program = cohort.program(networks, cohort.task, cohort.device)
    program.penalties = cohort.resolved.penalties
    longest = split_lengths(cohort.task, "train")[-1]
    batch = (longest, cohort.protocol.strings_at(longest))
    data = TrainingData(
        cohort.task, cohort.protocol, torch.device("cpu"), sampler=cohort.resolved.sampler
    )
    ((example,),) = data.take(Interval(0, (batch,), (cohort.members[0].seed,)))
    example = example.map(lambda part: part.to(cohort.device))
    program.gradients(program.select([0]), program.layout.stack(networks), example, [0])


def peak_of(work: Callable[[], None], device: torch.device) -> int:
    """Return the peak bytes of GPU memory that `work` allocates in addition to those in use."""
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    work()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
