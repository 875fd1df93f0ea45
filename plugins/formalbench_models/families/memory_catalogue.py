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
)
