"""Whole training steps as CUDA graphs.

A step of a small network is hundreds of kernels of a few microseconds each, and starting them
from Python takes longer than running them. A graph is recorded once for strings of a length, and
whatever else has its shape, and then started as one. All recordings share one pool of memory,
since no two run at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from formalbench.training.step import Group, StepInputs

WARM_UP = 3
"""Steps of a shape before it is recorded: libraries set themselves up in the first ones."""

Shapes = tuple[torch.Size, ...]
"""Of all that a step is given."""


@dataclass
class Recording:
    """A recorded step and the tensors it reads."""

    graph: torch.cuda.CUDAGraph
    inputs: StepInputs

    def replay(self, inputs: StepInputs) -> None:
        """Take the step with other inputs of the same shapes."""
        for mine, new in zip(self.inputs.tensors(), inputs.tensors(), strict=True):
            mine.copy_(new)
        self.graph.replay()


class GraphedGroup(Group):
    """A group whose steps are recorded and replayed; the same numbers as `Group`.

    A network that cannot be recorded, since it asks the device for a value, goes on one
    kernel at a time.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recordings: dict[Shapes, Recording] = {}
        self._steps: dict[Shapes, int] = {}
        self._recordable = True
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, inputs: StepInputs, noise: Sequence[int]) -> None:
        """Take a step; `Group.step` says how."""
        shapes = tuple(tensor.shape for tensor in inputs.tensors())
        if shapes in self._recordings:
            self._recordings[shapes].replay(inputs)
            return
        taken = self._steps.get(shapes, 0)
        self._steps[shapes] = taken + 1
        if taken < WARM_UP or not self._recordable:
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
        kept = inputs.map(torch.clone)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self._pool):
            super().step(kept, noise)
        return Recording(graph, kept)
