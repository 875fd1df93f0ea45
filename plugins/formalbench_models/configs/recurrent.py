"""The options of the recurrent baselines."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, option


class RecurrentConfig(Config):
    """Of the Elman network, the GRU and the LSTM."""

    width: int = option(
        128, "size of the state and of the symbol embeddings", minimum=1, maximum=8192
    )
    layers: int = option(1, "recurrent layers, the topmost is read", minimum=1, maximum=64)


class LstmConfig(RecurrentConfig):
    """Of the LSTM."""

    forget_bias: float = option(
        0.0,
        "added to the forget gates' initial biases (Jozefowicz et al. 2015, abstract; 1 in the "
        "code of Delétang et al. 2023)",
        minimum=-100.0,
        maximum=100.0,
    )


class ElmanConfig(RecurrentConfig):
    """Of the Elman network."""

    nonlinearity: Literal["tanh", "relu"] = option(
        "tanh", "of the state: Elman's is squashed, with ReLU it can grow"
    )
