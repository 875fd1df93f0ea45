"""Ours, as a program that takes turns: training and testing through the engine itself.

A measurement of training is a whole `train_cohort`: building the network, drawing strings,
forward and backward pass, clipping, Adam and one small validation at the end.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from formalbench.contracts.protocol import Curriculum, Decay, Protocol, Testing, Validation
from formalbench.contracts.specs import Splits
from formalbench.contracts.task import Task
from formalbench.device import keep_freed_memory
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import evaluate
from formalbench.host import PluginHost
from formalbench.training.run_state import Member
from formalbench.training.trainer import Cohort, resolve_protocol, train_cohort
from turns import Line, peak_bytes, usable_cores

HOST = PluginHost.load()


def make_protocol(steps: int, batch: int = 128) -> Protocol:
    """Return a protocol with this many steps and all lengths from the start."""
    return Protocol(
        name="speed",
        version=1,
        steps=steps,
        batch=batch,
        evaluate_every=steps,
        shared_lengths=True,
        curriculum=Curriculum(kind="uniform"),
        decay=Decay(steps=steps, mastered=0.0),
        validation=Validation(every=steps, lengths=1, strings=1),
        test=Testing(lengths=1, strings=1),
    )


def make_task(name: str, first: int, last: int, every: int = 1) -> Task:
    """Return a task that trains on lengths first, first + every, … last."""
    return dataclasses.replace(HOST.task(name), splits=Splits(train=(first, last), step=every))


def make_cohort(
    model: str,
    options: Mapping[str, Any],
    lengths: tuple[int, int],
    steps: int,
    *,
    runs: int = 1,
    device: str = "cpu",
    task_name: str = "parity",
    every: int = 1,
) -> Cohort:
    """Return a cohort of runs that differ in their seed."""
    task, protocol = make_task(task_name, *lengths, every), make_protocol(steps)
    members = [Member(1e-3, seed) for seed in range(runs)]
    return Cohort(
        lambda: HOST.network(model, task, options),
        task,
        protocol,
        members,
        torch.device(device),
        resolve_protocol(HOST, protocol),
    )


def train(
    model: str,
    options: Mapping[str, Any],
    first: int,
    last: int,
    steps: int,
    seed: int = 0,
    every: int = 1,
) -> dict[str, Any]:
    """Train a network on strings of lengths first, first + every, … last and return the time."""
    cohort = make_cohort(model, options, (first, last), steps, every=every)
    cohort = dataclasses.replace(cohort, members=[Member(1e-3, seed)])
    start = time.perf_counter()
    (trained,) = train_cohort(cohort)
    seconds = time.perf_counter() - start
    assert trained.status == "finished", trained.status
    return {"seconds": seconds}


def test(
    model: str, options: Mapping[str, Any], lengths: Sequence[int], strings: int
) -> dict[str, Any]:
    """Draw and score strings at some lengths; return the time of each and the peak memory.

    On all cores, as the engine does when there is one run to test.
    """
    task = HOST.task("parity")
    torch.manual_seed(0)
    network = HOST.network(model, task, options)
    seconds = []
    for length in lengths:
        start = time.perf_counter()
        example = task.sample(task.stream("test", length, strings), length, strings)
        cells = TestSet((Cell(length, length, (example,)),))
        evaluate(network, task, cells, torch.device("cpu"), usable_cores())
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "peak": peak_bytes()}


if __name__ == "__main__":
    keep_freed_memory()  # as the engine does in a process that trains on a CPU
    Line().serve({"train": train, "test": test})
