"""One optimiser step, and the same step as a CUDA graph.

Legend: R runs, B strings, N symbols, P parameters of a network.

A step of a small network is hundreds of kernels of a few microseconds each, and launching them
from Python takes longer than running them. A graph is recorded once per shape of the inputs, and
then launched as one. All recordings share one memory pool, since only one runs at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from formalbench.contracts.network import Example
from formalbench.training.gradients import Gradients, Program
from formalbench.training.parameters import Rows, Update


class StepInputs(NamedTuple):
    """The inputs of a step. All are on the device, so that a step waits for nothing.

    Attributes:
        examples: its batches, (R, B, …), whose gradients are averaged.
        rate: learning rates, (R, 1).
        scalars: the optimiser's scalars of the step, (S,).
    """

    examples: tuple[Example, ...]
    rate: Tensor
    scalars: Tensor

    def map(self, change: Callable[[Any], Any]) -> StepInputs:
        """Return a copy with `change` applied to every tensor."""
        examples = tuple(example.map(change) for example in self.examples)
        return StepInputs(examples, change(self.rate), change(self.scalars))

    def tensors(self) -> list[Tensor]:
        """Return all tensors, in a fixed order."""
        tensors: list[Tensor] = []
        self.map(tensors.append)
        return tensors


OTHER_NOISE = 1_000_000_007
"""Offset of the noise seeds for each batch of a step after the first."""


class Group:
    """Runs that train together, and their rows between two evaluations.

    Its tensors keep their addresses as long as the group exists, as a captured step needs.

    Args:
        runs: indices of the runs in the cohort.
        program: computes gradients.
        rows: the rows of these runs; copied.
        update: the parameter update.
    """

    def __init__(self, runs: Sequence[int], program: Program, rows: Rows, update: Update) -> None:
        self.runs = tuple(runs)
        self.rows = Rows(rows.parameters.clone(), tuple(slot.clone() for slot in rows.slots))
        self.losses = torch.zeros(len(runs), device=rows.parameters.device)
        self.wrong = torch.zeros_like(self.losses)
        self._program = program
        self._update = update
        self._selected = program.select(runs)

    def begin(self, states: Sequence[Sequence[Tensor]]) -> None:
        """Copy the parameters and slots of runs into the group, and reset its sums."""
        torch._foreach_copy_(self._all_rows(), [row for state in states for row in state])
        self.losses.zero_()
        self.wrong.zero_()

    def finish(self, states: Sequence[Sequence[Tensor]]) -> None:
        """Copy parameters and slots back to the runs."""
        torch._foreach_copy_([row for state in states for row in state], self._all_rows())

    def _all_rows(self) -> list[Tensor]:
        """Return every row, run by run: parameters, then slots."""
        tensors = (self.rows.parameters, *self.rows.slots)
        return [tensor[index] for index in range(len(self.runs)) for tensor in tensors]

    def step(self, inputs: StepInputs, noise: Sequence[int]) -> None:
        """Take a step.

        Args:
            inputs: the strings and the rates.
            noise: seeds of random numbers inside the network, such as dropout. One per run and
                step, so that a run's results do not depend on the other runs of the group.
        """
        result = self.gradients(inputs.examples, noise)
        self._update.take(self.rows, result.gradients, inputs.rate, inputs.scalars)
        self.losses += result.losses
        self.wrong += result.wrong

    def gradients(self, examples: Sequence[Example], noise: Sequence[int]) -> Gradients:
        """Return the mean over a step's batches; see `step` for the arguments."""
        parts = (
            self._program.gradients(
                *(self._selected, self.rows.parameters, example),
                [seed + OTHER_NOISE * index for seed in noise],
            )
            for index, example in enumerate(examples)
        )
        if len(examples) == 1:
            return next(parts)
        weight = 1 / len(examples)
        mean = Gradients(
            torch.zeros_like(self.rows.parameters),
            torch.zeros_like(self.losses),
            torch.zeros_like(self.wrong),
        )
        for part in parts:
            mean.gradients.add_(weight * part.gradients)
            mean.losses.add_(weight * part.losses)
            mean.wrong.add_(part.wrong)
        return mean


WARM_UP = 3
"""Steps of a shape before it is recorded, in which libraries initialise themselves."""

Shapes = tuple[torch.Size, ...]
"""Shapes of all inputs of a step."""


@dataclass
class Recording:
    """A recorded step and the tensors it reads."""

    graph: torch.cuda.CUDAGraph
    inputs: StepInputs

    def replay(self, inputs: StepInputs) -> None:
        """Take the step with other inputs of the same shapes."""
        for recorded, new in zip(self.inputs.tensors(), inputs.tensors(), strict=True):
            recorded.copy_(new)
        self.graph.replay()


class GraphedGroup(Group):
    """A group whose steps are recorded and replayed; the same numbers as `Group`.

    A network that cannot be recorded, because it reads a value from the device, launches its
    kernels one at a time.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recordings: dict[Shapes, Recording] = {}
        self._steps: dict[Shapes, int] = {}
        self._recordable = True
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, inputs: StepInputs, noise: Sequence[int]) -> None:
        shapes = tuple(tensor.shape for tensor in inputs.tensors())
        if shapes in self._recordings:
            self._recordings[shapes].replay(inputs)
            return
        count = self._steps.get(shapes, 0)
        self._steps[shapes] = count + 1
        if count < WARM_UP or not self._recordable:
            super().step(inputs, noise)
            return
        try:
            self._recordings[shapes] = self._record(inputs, noise)
        except RuntimeError:
            self._recordable = False
            super().step(inputs, noise)
        else:
            self._recordings[shapes].replay(inputs)

    def _record(self, inputs: StepInputs, noise: Sequence[int]) -> Recording:
        """Record a step without taking it."""
        static_inputs = inputs.map(torch.clone)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self._pool):
            super().step(static_inputs, noise)
        return Recording(graph, static_inputs)
