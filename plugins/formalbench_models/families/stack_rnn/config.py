"""The options of the stack-RNN."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, option


class StackRnnConfig(Config):
    """A controller and its stacks, which are as deep as the string is long."""

    width: int = option(128, "size of the controller's state", minimum=1, maximum=8192)
    controller: Literal["relu", "elman", "lstm"] = option(
        "relu", "Elman network with ReLU (as Delétang et al.) or with tanh, or LSTM"
    )
    stacks: int = option(1, "stacks, each with actions of its own", minimum=1, maximum=64)
    cell: int = option(8, "numbers in a cell of a stack", minimum=1, maximum=1024)
