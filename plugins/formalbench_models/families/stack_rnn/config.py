"""The options of the stack-RNN."""

from __future__ import annotations

from formalbench import option

from formalbench_models.layers.memory_options import ControllerConfig


class StackRnnConfig(ControllerConfig):
    """A controller and its stacks, which are as deep as the string is long."""

    stacks: int = option(1, "stacks, each with actions of its own", minimum=1, maximum=64)
    cell: int = option(8, "numbers in a cell of a stack", minimum=1, maximum=1024)
