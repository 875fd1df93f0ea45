"""RNN, GRU, LSTM, and networks with stacks and tapes."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, ModelSpec, option

from formalbench_models.catalogue.linear_recurrences import SlstmConfig, XlstmConfig
from formalbench_models.catalogue.options import ControllerConfig, learned


class RecurrentConfig(Config):
    """Options of the Elman network, the GRU and the LSTM."""

    width: int = option(
        128, "size of the state and of the symbol embeddings", minimum=1, maximum=8192
    )
    layers: int = option(1, "number of recurrent layers", minimum=1, maximum=64)


class LstmConfig(RecurrentConfig):
    """Options of the LSTM."""

    forget_bias: float = option(
        0.0,
        "added to the initial forget-gate biases (Jozefowicz et al. 2015, abstract; 1 in the "
        "code of Delétang et al. 2023)",
        minimum=-100.0,
        maximum=100.0,
    )


class ElmanConfig(RecurrentConfig):
    """Options of the Elman network."""

    nonlinearity: Literal["tanh", "relu"] = option(
        "tanh", "nonlinearity of the state: tanh bounds it, ReLU lets it grow"
    )


class NondeterministicStackConfig(Config):
    """Options of an LSTM with a weighted pushdown automaton."""

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
        "longest supported string; time and training memory grow with its cube",
        minimum=1,
        maximum=4096,
    )


class StackRnnConfig(ControllerConfig):
    """Options of a controller with stacks that are as deep as the string is long."""

    stacks: int = option(1, "number of stacks, each with its own actions", minimum=1, maximum=64)
    cell: int = option(8, "size of a stack cell", minimum=1, maximum=1024)


class TapeRnnConfig(ControllerConfig):
    """Options of a controller with tapes that are as long as the string."""

    tapes: int = option(1, "number of tapes, each with its own actions", minimum=1, maximum=64)
    cell: int = option(8, "size of a tape cell", minimum=1, maximum=1024)
    hidden: int = option(
        64,
        "hidden units in each of the two layers before the written value",
        minimum=1,
        maximum=8192,
    )
    jumps: bool = option(
        True,
        "moves by the string's length, too; left out where an answer may not see the whole string",
    )


def _baseline(name: str, config: type[Config], summary: str, reference: str) -> ModelSpec:
    factory = f"recurrent:{name}"  # version 1 used torch's kernels
    return learned(name, factory, config, summary, reference, version=2, by_name=False)


BASELINES = (
    _baseline("rnn", ElmanConfig, "Elman network", "Elman 1990, Finding structure in time"),
    _baseline("gru", RecurrentConfig, "gated recurrent unit", "Cho et al. 2014"),
    _baseline("lstm", LstmConfig, "long short-term memory", "Hochreiter & Schmidhuber 1997"),
)

MEMORY_MODELS: tuple[ModelSpec, ...] = (
    learned(
        "nondeterministic-stack",
        "nondeterministic_stack:NondeterministicStack",
        NondeterministicStackConfig,
        "LSTM with a nondeterministic pushdown automaton (RNS-RNN); cubic in the length",
        "DuSell & Chiang 2022, Learning hierarchical structures",
    ),
    learned(
        "slstm",
        "xlstm:build_slstm",
        SlstmConfig,
        "LSTM with exponential gates and state mixing within heads",
        "Beck et al. 2024, xLSTM, section 2.2",
    ),
    learned(
        "stack-rnn",
        "stack_rnn:StackRnn",
        StackRnnConfig,
        "recurrent network with stacks: weighted mix of push, no-op and pop",
        "Joulin & Mikolov 2015; Delétang et al. 2023",
    ),
    learned(
        "tape-rnn",
        "tape_rnn:TapeRnn",
        TapeRnnConfig,
        "recurrent network with tapes: weighted mix of head moves",
        "Delétang et al. 2023; Suzgun et al. 2019",
    ),
    learned(
        "xlstm",
        "xlstm:build_xlstm",
        XlstmConfig,
        "blocks of mLSTM and sLSTM",
        "Beck et al. 2024, xLSTM, section 2.4",
        version=3,  # that of mlstm
    ),
)
