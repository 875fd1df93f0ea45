"""Options of whatever works a memory; nothing here imports torch."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, option


class ControllerConfig(Config):
    """Of the recurrent network that works a memory."""

    width: int = option(128, "size of the controller's state", minimum=1, maximum=8192)
    controller: Literal["relu", "elman", "lstm"] = option(
        "relu", "Elman network with ReLU (as Delétang et al.) or with tanh, or LSTM"
    )
    initial: Literal["torch", "haiku"] = option(
        "torch", "initial weights: PyTorch's, or those of Delétang et al., which are haiku's"
    )
