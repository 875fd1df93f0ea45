"""The recurrent networks with memory, announced. Imports neither torch nor numpy."""

from __future__ import annotations

from formalbench import ModelSpec

from formalbench_models.families.announced import family

MEMORY_MODELS: tuple[ModelSpec, ...] = (
    family(
        "nondeterministic-stack",
        "nondeterministic_stack.model:NondeterministicStack",
        "nondeterministic_stack.config:NondeterministicStackConfig",
        "LSTM with all runs of a pushdown automaton at once (RNS-RNN); cubic in the length",
        "DuSell & Chiang 2022, Learning hierarchical structures",
    ),
    family(
        "slstm",
        "slstm.model:build",
        "slstm.config:SlstmConfig",
        "LSTM with exponential gates and heads that mix their states",
        "Beck et al. 2024, xLSTM, section 2.2",
    ),
    family(
        "stack-rnn",
        "stack_rnn.model:StackRnn",
        "stack_rnn.config:StackRnnConfig",
        "recurrent network with stacks: push, no-op and pop in superposition",
        "Joulin & Mikolov 2015; Delétang et al. 2023",
    ),
    family(
        "tape-rnn",
        "tape_rnn.model:TapeRnn",
        "tape_rnn.config:TapeRnnConfig",
        "recurrent network with tapes: moves of the head in superposition",
        "Delétang et al. 2023; Suzgun et al. 2019",
    ),
    family(
        "xlstm",
        "xlstm.model:build",
        "xlstm.config:XlstmConfig",
        "blocks of mLSTM and sLSTM",
        "Beck et al. 2024, xLSTM, section 2.4",
    ),
)
