"""The options of the network with a nondeterministic stack."""

from __future__ import annotations

from formalbench import Config, option


class NondeterministicStackConfig(Config):
    """An LSTM and the pushdown automaton that it weights."""

    width: int = option(20, "size of the LSTM's state", minimum=1, maximum=8192)
    states: int = option(2, "states of the automaton, Q", minimum=1, maximum=8)
    symbols: int = option(3, "symbols of its stack, S", minimum=1, maximum=8)
    normalise: bool = option(
        False,
        "weights of a state and top symbol sum to 1, as the NS-RNN's; the reading keeps the "
        "states, as in RNS-RNN",
    )
    longest: int = option(
        100,
        "longest string that it is for: time and, in training, memory grow with the cube",
        minimum=1,
        maximum=4096,
    )
