"""The recurrent networks with memory, announced. Imports neither torch nor numpy."""

from __future__ import annotations

from formalbench import ModelSpec

_FAMILIES = "formalbench_models.families."

MEMORY_MODELS = (
    ModelSpec(
        name="stack-rnn",
        version=1,
        summary="recurrent network with stacks: push, no-op and pop in superposition",
        factory=f"{_FAMILIES}stack_rnn.model:StackRnn",
        config=f"{_FAMILIES}stack_rnn.config:StackRnnConfig",
        reference="Joulin & Mikolov 2015; Delétang et al. 2023, appendix A.2",
    ),
    ModelSpec(
        name="tape-rnn",
        version=1,
        summary="recurrent network with tapes: moves of the head in superposition",
        factory=f"{_FAMILIES}tape_rnn.model:TapeRnn",
        config=f"{_FAMILIES}tape_rnn.config:TapeRnnConfig",
        reference="Delétang et al. 2023, appendix A.2; Suzgun et al. 2019",
    ),
)
