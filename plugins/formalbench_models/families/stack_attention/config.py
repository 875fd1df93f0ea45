"""The options of the transformer with stack attention: those of the transformer, and its stack."""

from __future__ import annotations

from typing import Literal

from formalbench import option
from pydantic import model_validator

from formalbench_models.configs.transformer import TransformerConfig


class StackAttentionConfig(TransformerConfig):
    """Of ``stack-attention``."""

    cell: int = option(32, "numbers in a cell of the stack", minimum=1, maximum=1024)
    push: Literal["linear", "sigmoid"] = option(
        "linear",
        "what is pushed: a linear map of the state, as in the authors' code, or its sigmoid",
    )
    stack_block: int = option(
        0, "the block whose attention is the stack, from 1; 0 for the middle one", minimum=0
    )

    @model_validator(mode="after")
    def _the_block_is_there(self) -> StackAttentionConfig:
        if self.stack_block > self.layers:
            raise ValueError(f"stack_block is {self.stack_block}, of {self.layers} layers")
        if self.init == "library":
            raise ValueError("init=library makes all blocks alike, and here one is different")
        return self

    @property
    def stack_index(self) -> int:
        """The block with the stack, from 0."""
        return self.stack_block - 1 if self.stack_block else (self.layers - 1) // 2
