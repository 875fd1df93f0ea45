"""The recurrent networks with memory, announced. Imports neither torch nor numpy."""

from __future__ import annotations

from formalbench import ModelSpec


def _family(name: str, factory: str, config: str, summary: str, source: str) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.families.{factory}",
        config=f"formalbench_models.families.{config}",
        reference=source,
        by_name=True,  # the default suite has no published records of them
    )


MEMORY_MODELS: tuple[ModelSpec, ...] = (
    _family(
        "nondeterministic-stack",
        "nondeterministic_stack.model:NondeterministicStack",
        "nondeterministic_stack.config:NondeterministicStackConfig",
        "LSTM with all runs of a pushdown automaton at once (RNS-RNN); cubic in the length",
        "DuSell & Chiang 2022, Learning hierarchical structures",
    ),
    _family(
        "slstm",
        "slstm.model:build",
        "slstm.config:SlstmConfig",
        "LSTM with exponential gates and heads that mix their states",
        "Beck et al. 2024, xLSTM, section 2.2",
    ),
    _family(
        "stack-rnn",
        "stack_rnn.model:StackRnn",
        "stack_rnn.config:StackRnnConfig",
        "recurrent network with stacks: push, no-op and pop in superposition",
        "Joulin & Mikolov 2015; Delétang et al. 2023",
    ),
    _family(
        "tape-rnn",
        "tape_rnn.model:TapeRnn",
        "tape_rnn.config:TapeRnnConfig",
        "recurrent network with tapes: moves of the head in superposition",
        "Delétang et al. 2023; Suzgun et al. 2019",
    ),
    _family(
        "xlstm",
        "xlstm.model:build",
        "xlstm.config:XlstmConfig",
        "blocks of mLSTM and sLSTM",
        "Beck et al. 2024, xLSTM, section 2.4",
    ),
)
