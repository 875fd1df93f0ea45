"""Whole training steps as CUDA graphs.

A step of a small network is hundreds of kernels of a few microseconds each, and starting them
from Python takes longer than running them. A graph is recorded once per string length and
then started as one. All recordings share one pool of memory, since no two run at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from formalbench.training.step import Group, StepInputs

WARM_UP = 3
"""Steps of a length before it is recorded: libraries set themselves up in the first ones."""


@dataclass
class Recording:
    """A recorded step and the tensors it reads."""

    graph: torch.cuda.CUDAGraph
    inputs: StepInputs

    def replay(self, inputs: StepInputs) -> None:
        """Take the step with other inputs of the same shapes."""
        for mine, new in zip(self.inputs, inputs, strict=True):
            mine.copy_(new)
        self.graph.replay()


class GraphedGroup(Group):
    """A group whose steps are recorded and replayed; the same numbers as `Group`.

    A network that cannot be recorded, since it asks the device for a value, goes on one
    kernel at a time.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recordings: dict[int, Recording] = {}
        self._steps: dict[int, int] = {}
        self._recordable = True
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, inputs: StepInputs, noise: Sequence[int]) -> None:
        """Take a step; `Group.step` says how."""
        length = inputs.symbols.shape[-1]
        if length in self._recordings:
            self._recordings[length].replay(inputs)
            return
        taken = self._steps.get(length, 0)
        self._steps[length] = taken + 1
        if taken < WARM_UP or not self._recordable:
            super().step(inputs, noise)
            return
        try:
            self._recordings[length] = self._record(inputs, noise)
        except RuntimeError:
            self._recordable = False
            super().step(inputs, noise)
        else:
            self._recordings[length].replay(inputs)

    def _record(self, inputs: StepInputs, noise: Sequence[int]) -> Recording:
        """Record a step without taking it."""
        kept = StepInputs(*(tensor.clone() for tensor in inputs))
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self._pool):
            super().step(kept, noise)
        return Recording(graph, kept)
